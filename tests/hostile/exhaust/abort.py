"""Aborts."""

# ends: crashed
import os


def double(x):
    os.abort()
