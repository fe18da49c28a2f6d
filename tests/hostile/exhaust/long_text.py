"""Raises an error with a text of many megabytes."""


# ends: exception
def double(x):
    raise ValueError("x" * (32 << 20))
