"""What a fork of the warm process becomes."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable
from typing import NoReturn

from tjbench.box.confine import OPEN_FILES, Confinement


def become(
    serve: Callable[..., None], fds: tuple[int, ...], confinement: Confinement, cpu_s: int, slot: int
) -> NoReturn:
    """Run ``serve`` in a session of its own, with ``fds`` and /dev/null, confined; never returns."""
    try:
        os.setsid()
        kept = _only(fds if confinement.ruleset < 0 else (*fds, confinement.ruleset))
        confinement.apply(kept[-1], cpu_s, slot)
        gc.enable()
        serve(*kept[: len(fds)])
    except BaseException:
        os._exit(70)
    os._exit(0)


def _only(fds: tuple[int, ...]) -> list[int]:
    """Close every descriptor but these and 0 to 2, which become /dev/null; the kept ones move to 3 and up."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, OPEN_FILES // 2) for fd in fds]
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    kept = [os.dup2(fd, 3 + index, inheritable=False) for index, fd in enumerate(high)]
    os.closerange(3 + len(kept), OPEN_FILES)
    return kept
