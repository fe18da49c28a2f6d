"""Reads keys from its own environment, in Python's copy and in the C library's."""

import ctypes
import os


def attempt():
    got = [name for name in os.environ if "KEY" in name or "TOKEN" in name or "SECRET" in name]
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    return got + [name for name in KEYS if getenv(name.encode())]
