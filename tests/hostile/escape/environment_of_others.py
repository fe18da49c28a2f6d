"""Reads the environment of its parent, of the harness, and of every other process."""

import os


def attempt():
    got = []
    for pid in (os.getppid(), HARNESS, 1, "self", *range(2, 400)):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                got.append(f"{pid}: {len(file.read())} bytes")
        except OSError:
            pass
    return got
