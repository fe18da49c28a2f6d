"""Recurses until Python objects."""


# ends: exception
def double(x):
    return double(x)
