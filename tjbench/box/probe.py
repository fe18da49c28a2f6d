"""What must fail inside the box, tried for real by a confined child that knows no better than an answer does."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from tjbench.box.values import encode, write_frame


def serve(report: int) -> None:
    """Write the names of the attempts that succeeded: none where the box holds."""
    write_frame(report, encode([name for name, attempt in _ATTEMPTS.items() if _succeeds(attempt)]))


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


_ATTEMPTS: dict[str, Callable[[], object]] = {
    "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "list a directory": lambda: list(Path("/").iterdir()),
    "read the environment of the parent": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "write a file": lambda: os.open("/dev/null", os.O_WRONLY),
    "create a file": lambda: os.open("/tmp/tjbench-probe", os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "open a unix socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "signal the parent": lambda: os.kill(os.getppid(), 0),
    "start a process": _fork,
}
