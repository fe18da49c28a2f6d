"""Writes orders of the harness's own protocol to every descriptor."""

import os
import struct


def attempt():
    order = struct.pack("<Qdq", 1, 60.0, 1 << 40)
    for fd in range(6, 256):
        try:
            os.write(fd, order)
            return [f"wrote to {fd}"]
        except OSError:
            pass
    return []
