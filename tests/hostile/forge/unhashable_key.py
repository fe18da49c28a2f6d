"""Sends a dict whose key is a list."""

import os
import struct


def double(x):
    body = b"t\x03\x00\x00\x00s\x06\x00\x00\x00returnd\x01\x00\x00\x00l\x00\x00\x00\x00NN"
    for fd in range(3, 12):
        try:
            os.write(fd, struct.pack("<I", len(body)) + body)
        except OSError:
            pass
