"""Uses what it inherited: a directory, a control socket, a log."""

import os
import stat


def attempt():
    got = []
    for fd in range(1024):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if fd > 5:
            got.append(f"descriptor {fd} is open")
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            got.append(f"descriptor {fd} is a file")
    return got
