"""Allocates without end before it can be called."""

# ends: memory, timeout
kept = [0]
while True:
    kept = kept * 2


def double(x):
    return None
