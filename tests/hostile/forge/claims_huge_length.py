"""Announces a message of 1.8 GB and never sends it."""

import os
import struct


def double(x):
    for fd in range(3, 12):
        try:
            os.write(fd, struct.pack("<I", 1_800_000_000) + b"x")
        except OSError:
            pass
