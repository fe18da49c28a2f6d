"""Types into the terminal of whoever started it."""

import fcntl
import os


def attempt():
    got = []
    for name in ("/dev/tty", "/dev/pts/0", "/dev/console", "/dev/ptmx"):
        try:
            os.open(name, os.O_RDONLY)
            got.append(name)
        except OSError:
            pass
    for fd in range(6):
        try:
            fcntl.ioctl(fd, 0x5412, b"x")
            got.append(f"TIOCSTI {fd}")
        except OSError:
            pass
    return got
