"""Leaves politely in the middle of a test."""


def double(x):
    exit(0)
