"""The warm process: forks two children a program, confines them, ends them, and says how they ended.

It has one thread, an environment without keys, and never holds a program's text: that goes from the harness straight to
each child, so that no child inherits another program or the tests it is to be judged by.
Started as ``python -c`` with a stream socket as standard input.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tjbench.box import checker, probe, solver, strays, together
from tjbench.box.child import become
from tjbench.box.confine import LINUX, Confinement
from tjbench.box.protocol import CHECKER_KILLED, ORDER, REPORT, SOLVER_KILLED, TIMED_OUT
from tjbench.box.values import decode, read_frame

_UNREAPED_S = 5.0
_PROBE_S = 5
_UNWATCHED_MS = 10.0
# What answers import most; anything else of the standard library is read when it is asked for.
_WARM = """
abc array bisect calendar cmath collections collections.abc contextlib copy dataclasses datetime decimal enum fractions
functools hashlib heapq io itertools json math numbers operator os random re statistics string struct sys textwrap time
types typing unicodedata warnings
"""


@dataclass(slots=True, kw_only=True)
class Running:
    """A program's two processes, or the one that is both; a status is set once its process is reaped."""

    number: int
    slot: int
    solver: int
    checker: int
    may_fork: bool
    started: float
    deadline: float
    killed: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    cpu_s: float = 0.0

    @property
    def done(self) -> bool:
        return len(self.statuses) == len({self.solver, self.checker})

    def kill(self, reason: int) -> None:
        self.killed |= reason
        for pid, flag in ((self.solver, SOLVER_KILLED), (self.checker, CHECKER_KILLED)):
            if pid not in self.statuses:
                self.killed |= flag
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if self.may_fork:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)


class Zygote:
    """The event loop."""

    def __init__(self, control: socket.socket, confinement: Confinement) -> None:
        self.control = control
        self.confinement = confinement
        self.running: dict[int, Running] = {}
        self.watched: dict[int, int] = {}
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)

    def loop(self) -> None:
        while True:
            ready = [fd for fd, _ in self.poll.poll(self.patience())]
            self.reap()
            self.expire()
            if self.control.fileno() in ready and not self.accept():
                break
        for program in self.running.values():
            program.kill(0)

    def patience(self) -> float | None:
        """Milliseconds until the next deadline, or until the next look where ends are not reported by themselves."""
        if not self.running:
            return None
        left = min(program.deadline for program in self.running.values()) - time.monotonic()
        return min(max(0.0, left * 1000 + 1), 1e6 if self.watched else _UNWATCHED_MS)

    def accept(self) -> bool:
        order, given, _, _ = socket.recv_fds(self.control, ORDER.size, 2)
        if len(order) < ORDER.size or len(given) != 2:
            return False
        number, wall_s, shared = ORDER.unpack(order)
        taken = {program.slot for program in self.running.values()}
        slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
        calls, replies = os.pipe(), os.pipe()
        started = time.monotonic()
        cpu_s = int(wall_s) + 1
        if shared:
            checker_pid = solver_pid = self.fork(together.serve, (given[0],), cpu_s, 2 * slot)
        else:
            checker_pid = self.fork(checker.serve, (given[1], calls[1], replies[0]), cpu_s, 2 * slot)
            solver_pid = self.fork(solver.serve, (given[0], calls[0], replies[1]), cpu_s, 2 * slot + 1)
        for fd in (*given, *calls, *replies):
            os.close(fd)
        self.running[number] = Running(
            number=number,
            slot=slot,
            solver=solver_pid,
            checker=checker_pid,
            may_fork=not self.confinement.filtered,
            started=started,
            deadline=started + wall_s,
        )
        for pid in {checker_pid, solver_pid}:
            self.watch(pid)
        return True

    def fork(self, serve: Callable[..., None], fds: tuple[int, ...], cpu_s: int, slot: int) -> int:
        pid = os.fork()
        if pid == 0:
            become(serve, fds, self.confinement, cpu_s, slot)
        return pid

    def watch(self, pid: int) -> None:
        if not LINUX:
            return
        # Older kernels and some container runtimes have no pidfd; patience() then looks by itself.
        with suppress(OSError):
            self.watched[pid] = os.pidfd_open(pid)
            self.poll.register(self.watched[pid], select.POLLIN)

    def unwatch(self, pid: int) -> None:
        if pid in self.watched:
            fd = self.watched.pop(pid)
            self.poll.unregister(fd)
            os.close(fd)

    def reap(self) -> None:
        while self.running:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.unwatch(pid)
            for program in self.running.values():
                if pid in (program.solver, program.checker):
                    program.statuses[pid] = status
                    program.cpu_s += usage.ru_utime + usage.ru_stime

    def expire(self) -> None:
        now = time.monotonic()
        for program in list(self.running.values()):
            if program.checker in program.statuses and not program.done and not program.killed:
                program.kill(0)
                program.deadline = now + _UNREAPED_S
            elif now >= program.deadline and not program.killed:
                program.kill(TIMED_OUT)
                program.deadline = now + _UNREAPED_S
            if program.done or (program.killed and now >= program.deadline):
                self.finish(program, now)

    def finish(self, program: Running, now: float) -> None:
        program.kill(0)
        del self.running[program.number]
        if LINUX and program.may_fork:
            strays.end({pid for other in self.running.values() for pid in (other.solver, other.checker)})
        statuses = program.statuses
        report = REPORT.pack(
            program.number,
            program.killed,
            statuses.get(program.solver, -1),
            statuses.get(program.checker, -1),
            now - program.started,
            program.cpu_s,
        )
        with suppress(OSError):
            self.control.sendall(report)


def main() -> None:
    """Read the settings, warm up, report what holds, and serve until the harness hangs up."""
    control = socket.socket(fileno=0)
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm_up()
    settings = json.loads(control.makefile("r").readline())
    confinement = Confinement(
        bytes.fromhex(settings["filter"]), newest_landlock=settings["newest_landlock"], memory=settings["memory"]
    )
    if LINUX:
        strays.adopt()
    gc.disable()
    gc.freeze()
    zygote = Zygote(control, confinement)
    layers = {
        "landlock": confinement.landlock,
        "seccomp": confinement.filtered,
        "unprivileged": confinement.unprivileged,
        "escapes": escapes(zygote),
    }
    control.sendall(json.dumps(layers).encode() + b"\n")
    zygote.loop()
    os._exit(0)


def warm_up() -> None:
    """Load what answers import, once for all."""
    register, os.register_at_fork = os.register_at_fork, lambda **_: None
    for name in _WARM.split():
        importlib.import_module(name)
    os.register_at_fork = register
    # Without its hook, which reseeds every fork, the same program draws the same numbers every time.
    sys.modules["random"].seed(0)
    # Everything of ours is loaded; from here on an answer finds no more of it to import.
    for package in ("tjbench", "tjbench.box"):
        sys.modules[package].__path__ = []
    # What site would have added; their absence would look like a name the answer forgot.
    vars(builtins).update(exit=sys.exit, quit=sys.exit)


def escapes(zygote: Zygote) -> list[str]:
    """What a confined child can do that it must not; also when the child cannot be confined at all."""
    report, theirs = os.pipe()
    pid = zygote.fork(probe.serve, (theirs,), _PROBE_S, 0)
    os.close(theirs)
    frame = read_frame(report)
    os.close(report)
    os.waitpid(pid, 0)
    succeeded = decode(frame) if frame is not None else None
    return [str(name) for name in succeeded] if isinstance(succeeded, list) else ["run unconfined"]
