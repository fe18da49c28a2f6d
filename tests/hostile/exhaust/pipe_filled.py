"""Fills its own answer's way with bytes that nobody asked for."""

# ends: crashed, timeout
import os


def double(x):
    while True:
        for fd in range(3, 6):
            try:
                os.write(fd, b"\x00\x00\x00\x00" * 16384)
            except OSError:
                pass
