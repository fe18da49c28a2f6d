"""Returns a number of a million digits, for somebody to print."""


# ends: assertion
def double(x):
    return 1 << 4_000_000
