"""Writes orders of the harness's own protocol to every descriptor."""

import os
import struct


def attempt():
    order = struct.pack("<Qd", 1, 60.0)
    for fd in range(6, 256):
        try:
            os.write(fd, order)
            return [f"wrote to {fd}"]
        except OSError:
            pass
    return []
