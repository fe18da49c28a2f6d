"""Becomes root again, or anyone else, or takes capabilities back."""

import ctypes
import os


def attempt():
    got = []
    libc = ctypes.CDLL(None, use_errno=True)
    tries = {
        "setuid": lambda: os.setuid(0),
        "setresuid": lambda: os.setresuid(0, 0, 0),
        "setgid": lambda: os.setgid(0),
        "setgroups": lambda: os.setgroups([0]),
    }
    for name, do in tries.items():
        try:
            do()
            got.append(name)
        except OSError:
            pass
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    every = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    if libc.capset(header, every) >= 0:
        got.append("capset")
    for option in (8, 22, 24, 38, 47, 0x59616D61):
        if libc.prctl(option, 0, 0, 0, 0) >= 0:
            got.append(f"prctl {option}")
    return got
