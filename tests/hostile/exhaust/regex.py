"""A pattern that backtracks without end."""

# ends: timeout
import re


def double(x):
    return re.match(r"(a+)+$", "a" * 64 + "b")
