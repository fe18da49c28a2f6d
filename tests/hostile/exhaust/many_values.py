"""Returns millions of small values."""


# ends: exception, memory, timeout, assertion
def double(x):
    return [[]] * 3_000_000
