"""Opens files by other calls than open: by handle, by a path descriptor, relative to the library."""

import ctypes
import os


def attempt():
    got = []
    libc = ctypes.CDLL(None, use_errno=True)
    library = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
    for secret in (*SECRETS, "/etc/passwd"):
        try:
            path = os.open(secret, os.O_PATH)
            os.close(path)
        except OSError:
            path = None
        try:
            os.open("../" * 12 + secret.lstrip("/"), os.O_RDONLY, dir_fd=library)
            got.append(f"relative {secret}")
        except OSError:
            pass
        how = (ctypes.c_uint64 * 3)(0, 0, 0)
        if libc.syscall(437, -100, secret.encode(), how, 24) >= 0:
            got.append(f"openat2 {secret}")
    if libc.syscall(304, -100, ctypes.create_string_buffer(128), 0) >= 0:
        got.append("open_by_handle_at")
    return got
