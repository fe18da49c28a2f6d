"""Raises what a harness takes for the user's wish to stop."""


def double(x):
    raise KeyboardInterrupt
