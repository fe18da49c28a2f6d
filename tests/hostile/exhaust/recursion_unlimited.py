"""Lifts the limit of recursion and recurses through C."""

# ends: crashed, memory, exception, timeout
import sys

sys.setrecursionlimit(1 << 30)


class Deep:
    def __repr__(self):
        return repr(self)


def double(x):
    return repr(Deep())
