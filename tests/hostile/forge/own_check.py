"""Brings its own check and metadata."""

METADATA = {}


def check(candidate):
    return None


def double(x):
    return None
