"""Signals its parent, the harness, its group and everyone."""

import os
import signal


def attempt():
    got = []
    for pid in (os.getppid(), HARNESS, 1, -1, 0):
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, number)
                got.append(f"{pid} {number}")
            except OSError:
                pass
    return got
