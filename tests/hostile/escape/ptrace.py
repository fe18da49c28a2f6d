"""Attaches to its parent, to the harness and asks to be traced."""

import ctypes
import os


def attempt():
    libc = ctypes.CDLL(None, use_errno=True)
    requests = {"TRACEME": (0, 0), "ATTACH": (16, os.getppid()), "SEIZE": (0x4206, HARNESS)}
    return [name for name, (request, pid) in requests.items() if libc.ptrace(request, pid, 0, 0) >= 0]
