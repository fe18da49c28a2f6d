"""Becomes another program."""

import os
import sys


def attempt():
    for path in (sys.executable, "/bin/sh", "/usr/bin/env", "/proc/self/exe", "/lib64/ld-linux-x86-64.so.2"):
        try:
            os.execve(path, [path, "-c", "exit 0"], {})
        except OSError:
            pass
    return []
