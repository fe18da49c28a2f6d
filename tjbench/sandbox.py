"""The box: runs what a model wrote, apart from the tests that judge it, with nothing in its reach."""

from __future__ import annotations

import functools
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from tjbench.box import syscalls
from tjbench.box.protocol import SOLVER_KILLED, TIMED_OUT
from tjbench.box.values import Malformed, NotPlain, decode, encode
from tjbench.box.warm import Ended, Warm
from tjbench.errors import IncompleteError, UsageError

MEMORY = 512 * 1024 * 1024
"""Address space of each of a program's two processes, in bytes."""

_FULL_LANDLOCK = 6  # the ABI that also keeps signals and abstract sockets inside
_NEWEST = 1 << 16
_ATTEMPTS = 2


class Level(StrEnum):
    """How well the box holds here; found by trying. See ``docs/sandbox.md``."""

    FULL = "full"
    CONFINED = "confined"
    NONE = "none"


class Ending(StrEnum):
    """How a program ended."""

    PASSED = "passed"
    ASSERTION = "assertion"
    EXCEPTION = "exception"
    NAME_ERROR = "name_error"
    SYNTAX_ERROR = "syntax_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    HARNESS = "harness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An answer with the tests that decide it.

    ``answer`` is the whole text that defines ``entry_point``. ``tests`` define ``check(candidate)``; they run in a
    process of their own, after ``preamble``, and reach the answer only by calling it with plain data.
    ``timeout_s`` is wall time; CPU time is bounded by the next whole second.
    ``shared`` runs both in one interpreter, for tests that plain data is not enough for: a pass is then tamper-evident
    only (``docs/sandbox.md``).
    """

    answer: str
    entry_point: str
    tests: str
    preamble: str = ""
    timeout_s: float = 10.0
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``error`` says what went wrong, for people: it holds text that the answer chose."""

    ending: Ending
    error: str
    wall_s: float


class Box:
    """A warm process that runs programs, ``workers`` at once. ``run`` may be called from many threads.

    ``layers`` says what holds them: ``landlock`` (its ABI, 0 for none), ``seccomp``, ``unprivileged``, and ``escapes``,
    what a confined child could do that it must not.
    ``newest_landlock`` and ``filtered`` take layers away, to stand in for a machine that lacks them.
    Close it, or use it as a context manager.
    """

    def __init__(self, *, workers: int, newest_landlock: int = _NEWEST, filtered: bool = True) -> None:
        self._slots = threading.BoundedSemaphore(workers)
        self._settings = functools.partial(_settings, newest_landlock, filtered)
        self._lock = threading.Lock()
        self._closed = False
        self._warm = _warm(self._settings)
        self.layers = self._warm.layers
        self.level = _level(self.layers)

    def run(self, program: Program) -> Outcome:
        """Run one program to its end. Raises only ``IncompleteError``, when a lost box cannot be started again."""
        secret = secrets.token_bytes(32)
        try:
            answer = encode((program.answer, program.entry_point))
            tests = encode(
                (program.tests, secret) if program.shared else (program.entry_point, program.preamble, program.tests)
            )
        except NotPlain as error:
            return Outcome(ending=Ending.CRASHED, error=f"the program is {error}", wall_s=0.0)
        with self._slots:
            for _ in range(_ATTEMPTS):
                ended = self._current().run(answer, tests, wall_s=program.timeout_s, shared=program.shared)
                if not ended.lost:
                    ending, error_text = _ending(ended, secret if program.shared else None)
                    return Outcome(ending=ending, error=_printable(error_text), wall_s=ended.wall_s)
        return Outcome(ending=Ending.HARNESS, error="the box was lost while running this, twice", wall_s=0.0)

    def _current(self) -> Warm:
        with self._lock:
            if self._closed:
                raise ValueError("the box is closed")
            if self._warm.lost:
                self._warm.close()
                self._warm = _warm(self._settings)
            return self._warm

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._warm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@functools.cache
def detect_level() -> Level:
    """The level that holds on this machine, found by trying; once per process."""
    if not hasattr(os, "fork"):
        return Level.NONE
    with Box(workers=1) as box:
        return box.level


def cores() -> int:
    """The CPUs that this process may use: as many programs as are worth running at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_box(*, workers: int, trusted: bool = False, allow_unsandboxed: bool = False) -> Box:
    """A box for ``workers`` programs at once. Raises ``UsageError`` where nothing holds, unless the programs are
    ``trusted`` (our own) or the user accepts the risk."""
    if not hasattr(os, "fork"):
        raise UsageError(
            "code cannot be run on this system",
            why="running a program apart from its tests needs fork",
            fix=f"use Linux, macOS or the container image: {_DOCKER}",
        )
    box = Box(workers=workers)
    if box.level is Level.NONE and not trusted and not allow_unsandboxed:
        box.close()
        raise UsageError(
            "this machine cannot confine the code that models write",
            why=_why_none(),
            fix=f"use the container image: {_DOCKER}; or accept the risk with --allow-unsandboxed",
        )
    return box


_DOCKER = 'docker run --rm -v "$PWD:/work" -w /work ghcr.io/tokenjam/bench-action run'


def _why_none() -> str:
    if sys.platform != "linux":
        return "confinement needs Linux with Landlock and seccomp"
    if not _filter():
        return "libseccomp is missing"
    return "Landlock is missing (Linux 5.13 or later has it, unless switched off), or what it forbids was possible"


def _settings(newest_landlock: int, filtered: bool) -> dict[str, object]:
    return {"filter": (_filter() if filtered else b"").hex(), "newest_landlock": newest_landlock, "memory": MEMORY}


def _warm(settings: Callable[[], Mapping[str, object]]) -> Warm:
    try:
        return Warm(settings)
    except OSError as error:
        raise IncompleteError(
            "the sandbox process does not start", why=str(error), fix="`tjb doctor` shows what this machine offers"
        ) from error


@functools.cache
def _filter() -> bytes:
    return (syscalls.allowed() or b"") if sys.platform == "linux" else b""


def _level(layers: Mapping[str, object]) -> Level:
    abi = layers["landlock"]
    if layers["escapes"] or not layers["seccomp"] or not isinstance(abi, int) or not abi:
        return Level.NONE
    return Level.FULL if abi >= _FULL_LANDLOCK and layers["unprivileged"] else Level.CONFINED


def _ending(ended: Ended, secret: bytes | None) -> tuple[Ending, str]:
    """``secret`` is what a verdict must carry where the answer could have written it."""
    try:
        said = None if ended.verdict is None else decode(ended.verdict)
    except Malformed:
        said = None
    match said:
        case (str(ending), str(error), bytes(shown)) if secret and secrets.compare_digest(shown, secret):
            return Ending(ending), error
        case (str(ending), str(error)) if secret is None and ending != "gone":
            return Ending(ending), error
    if ended.killed & TIMED_OUT or _signal(ended.tests) == signal.SIGXCPU:
        return Ending.TIMEOUT, "out of time"
    if said == ("gone", "") or secret:
        return _gone(ended)
    return Ending.HARNESS, f"the tests ended without a verdict (status {ended.tests})"


def _gone(ended: Ended) -> tuple[Ending, str]:
    """Why the answer's process stopped answering before it was told to."""
    by = _signal(ended.answer)
    if ended.killed & SOLVER_KILLED and by == signal.SIGKILL:
        by = 0  # ours; any other signal was there before it
    if by == signal.SIGXCPU:
        return Ending.TIMEOUT, "out of CPU time"
    if by == signal.SIGKILL:
        return Ending.MEMORY, "out of memory"
    if by:
        return Ending.CRASHED, f"the answer's process died of {signal.Signals(by).name}"
    return Ending.CRASHED, "the answer ended its own process"


def _signal(status: int) -> int:
    return os.WTERMSIG(status) if status >= 0 and os.WIFSIGNALED(status) else 0


def _printable(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() else " " for char in text)[:1000]
