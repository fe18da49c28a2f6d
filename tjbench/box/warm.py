"""The warm process as the harness holds it: orders go in with two sockets each, reports come out."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tjbench.box.protocol import ORDER, REPORT
from tjbench.box.values import read_frame, write_frame

_GRACE_S = 30.0
_ROOT = str(Path(__file__).resolve().parents[2])
# The package is found once and its path forgotten, so that an answer cannot import what lies beside it.
_CODE = f"import sys; sys.path.append({_ROOT!r}); from tjbench.box.zygote import main; sys.path.pop(); main()"


@dataclass(slots=True, kw_only=True)
class Ended:
    """How a program's processes ended; ``lost`` when the warm process itself was gone first. Statuses are those of
    ``wait``; ``verdict`` is what the tests' side wrote, if it did."""

    ready: threading.Event = field(default_factory=threading.Event)
    lost: bool = True
    killed: int = 0
    answer: int = -1
    tests: int = -1
    wall_s: float = 0.0
    verdict: bytes | None = None


class Warm:
    """A running warm process. ``settings`` are made while it imports; ``layers`` is what it says of the confinement.
    Raises ``OSError`` when it cannot start."""

    def __init__(self, settings: Callable[[], Mapping[str, object]]) -> None:
        self.lost = False
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Ended] = {}
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        self._reader = threading.Thread(target=self._read, name="sandbox reports", daemon=True)
        with theirs:
            self._process = _start(theirs)
        try:
            self._control.settimeout(_GRACE_S)
            self._control.sendall(json.dumps(settings()).encode() + b"\n")
            self.layers: dict[str, object] = json.loads(_line(self._control))
            self._control.settimeout(None)
        except (OSError, ValueError) as error:
            self.close()
            raise OSError(f"{sys.executable} gave no answer: {error}") from error
        self._reader.start()

    def run(self, answer: bytes, tests: bytes, *, wall_s: float, shared: bool) -> Ended:
        """Run one program, its two sides given as encoded frames, to its end; where they are ``shared``, one process
        reads both."""
        to_answer, answer_end = socket.socketpair()
        to_tests, tests_end = socket.socketpair()
        with to_answer, to_tests:
            with answer_end, tests_end:
                ended = self._order(ORDER.pack(next(self._numbers), wall_s, shared), answer_end, tests_end)
            if ended is None:
                return Ended()
            judge = to_answer if shared else to_tests
            with suppress(OSError):
                write_frame(to_answer.fileno(), answer)
            with suppress(OSError):
                write_frame(judge.fileno(), tests)
                ended.verdict = read_frame(judge.fileno())
            if not ended.ready.wait(wall_s + _GRACE_S):
                self._process.kill()
        return ended

    def _order(self, order: bytes, *ends: socket.socket) -> Ended | None:
        with self._lock:
            if self.lost:
                return None
            ended = Ended()
            try:
                socket.send_fds(self._control, [order], [end.fileno() for end in ends])
            except OSError:
                return None
            self._waiting[ORDER.unpack(order)[0]] = ended
            return ended

    def _read(self) -> None:
        while (got := self._receive()) is not None:
            number, killed, answer, tests, wall_s, _ = REPORT.unpack(got)
            with self._lock:
                ended = self._waiting.pop(number)
            ended.lost, ended.killed, ended.answer, ended.tests, ended.wall_s = False, killed, answer, tests, wall_s
            ended.ready.set()
        with self._lock:
            self.lost = True
            waiting = list(self._waiting.values())
        for ended in waiting:
            ended.ready.set()

    def _receive(self) -> bytes | None:
        try:
            got = self._control.recv(REPORT.size, socket.MSG_WAITALL)
        except OSError:
            return None
        return got if len(got) == REPORT.size else None

    def close(self) -> None:
        """Hang up; every program still running is killed."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader.is_alive():
            self._reader.join()
        self._control.close()


def _start(control: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # As isolated as -I, but with a fixed hash seed: an answer that walks a set does the same every time.
        [sys.executable, "-s", "-P", "-S", "-B", "-c", _CODE],
        stdin=control.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHASHSEED": "0"},
        cwd="/",
        start_new_session=True,
    )


def _line(control: socket.socket) -> bytes:
    got = bytearray()
    while not got.endswith(b"\n"):
        byte = control.recv(1)
        if not byte:
            raise OSError("it ended")
        got += byte
    return bytes(got)
