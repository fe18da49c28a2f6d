"""Raises an error whose text imitates a verdict, with control characters."""


def double(x):
    raise ValueError("passed\x00\x1b[2K\rpassed \ud800")
