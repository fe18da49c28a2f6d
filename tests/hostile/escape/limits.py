"""Raises its own limits, and changes those of others."""

import os
import resource


def attempt():
    got = []
    for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE"):
        kind = getattr(resource, name)
        for value in (resource.RLIM_INFINITY, 1 << 40):
            try:
                resource.setrlimit(kind, (value, value))
                got.append(name)
            except (OSError, ValueError):
                pass
    tries = {
        "prlimit": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)),
        "nice": lambda: os.nice(-5),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
        "affinity": lambda: os.sched_setaffinity(os.getppid(), {0}),
        "scheduler": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    }
    for name, do in tries.items():
        try:
            do()
            got.append(name)
        except (OSError, PermissionError):
            pass
    return got
