"""Reads the memory of its parent and of the harness."""

import ctypes
import os


def attempt():
    got = []
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in (os.getppid(), HARNESS):
        for name in ("mem", "maps", "cmdline", "fd"):
            try:
                os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
                got.append(f"{pid}/{name}")
            except OSError:
                pass
        buffer = ctypes.create_string_buffer(8)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
        if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) >= 0:
            got.append(f"process_vm_readv {pid}")
    return got
