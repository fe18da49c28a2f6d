"""Forks without end."""

# ends: exception
import os


def double(x):
    while True:
        os.fork()
