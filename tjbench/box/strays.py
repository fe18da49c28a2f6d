"""Processes that an unfiltered answer leaves behind: orphans are handed to their subreaper, which ends them."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 50


def adopt() -> None:
    """Become the parent of every orphan among this process's descendants (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end(known: Container[int]) -> None:
    """Kill and reap every child that is not ``known``, until none is left; their own children arrive in turn."""
    for _ in range(_ROUNDS):
        strays = [pid for pid in _children() if pid not in known]
        if not strays:
            return
        for pid in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []
