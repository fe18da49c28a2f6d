"""Hostile programs, what each must not achieve, and the surroundings in which to run them.

``forge``: wrong answers that try to pass. ``escape``: programs that report what they reached. ``exhaust``: programs
that use something up; their ``# ends:`` line lists the endings that are fine.
``python -m tests.hostile.corpus`` runs them all where only the package is installed, such as in the container.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tjbench.sandbox import Box, Ending, Level, Outcome, Program

_DOUBLE = """
def check(candidate):
    assert candidate(2) == 4
    assert candidate([1, 2]) == [2, 4]
    assert candidate("ab") == "abab"
"""
_ATTEMPT = """
def check(candidate):
    got = candidate()
    assert got == [], got
"""
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN")
_TIMEOUT_S = {"forge": 2.0, "escape": 20.0, "exhaust": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One program. ``ends`` is empty for those whose ending their kind decides."""

    kind: str
    name: str
    source: str
    ends: frozenset[Ending]


def corpus() -> list[Hostile]:
    here = Path(__file__).parent
    found = []
    for kind in ("forge", "escape", "exhaust"):
        for path in sorted((here / kind).glob("*.py")):
            source = path.read_text(encoding="utf-8")
            ends = re.search(r"^# ends: (.+)$", source, re.MULTILINE)
            names = ends[1].split(", ") if ends else []
            found.append(Hostile(kind=kind, name=path.stem, source=source, ends=frozenset(map(Ending, names))))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an escape would reach: a secret file, a server, and this process."""

    secret: Path
    socket_path: str
    abstract: str
    port: int
    reached: list[str]

    def prelude(self, secrets: tuple[str, ...]) -> str:
        values = {
            "KEYS": _KEYS,
            "SECRETS": (str(self.secret), *secrets),
            "PORT": self.port,
            "SOCKET": self.socket_path,
            "ABSTRACT": self.abstract,
            "HARNESS": os.getpid(),
        }
        return "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def changes(self) -> list[str]:
        """What happened outside that must not have."""
        found = list(self.reached)
        if not self.secret.exists() or self.secret.read_text() != "secret":
            found.append("the secret file changed")
        if {path.name for path in self.secret.parent.iterdir()} != {"secret", "socket"}:
            found.append("a file appeared beside the secret")
        return found + [name for name in ("/tmp/tjbench-hostile", "/dev/shm/tjbench-hostile") if Path(name).exists()]


@contextmanager
def surroundings() -> Iterator[Surroundings]:
    """A secret that the user may read, and servers on loopback, in the file system and in the abstract name space."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place.chmod(0o777)
        secret = place / "secret"
        secret.write_text("secret")
        secret.chmod(0o666)
        reached: list[str] = []
        servers: dict[str, tuple[int, str | tuple[str, int]]] = {
            "tcp": (socket.AF_INET, ("127.0.0.1", 0)),
            "unix": (socket.AF_UNIX, str(place / "socket")),
            "abstract": (socket.AF_UNIX, f"\0tjbench-{os.getpid()}-{place.name}"),
        }
        addresses = {}
        for name, (family, address) in servers.items():
            server = stack.enter_context(socket.socket(family))
            server.bind(address)
            server.listen()
            addresses[name] = server.getsockname()
            listener = threading.Thread(target=_listen, args=(name, server, reached), daemon=True)
            listener.start()
            stack.callback(listener.join)
            stack.callback(server.shutdown, socket.SHUT_RDWR)
        (place / "socket").chmod(0o777)
        yield Surroundings(
            secret=secret,
            socket_path=addresses["unix"],
            abstract=addresses["abstract"].decode(),
            port=addresses["tcp"][1],
            reached=reached,
        )


def _listen(name: str, server: socket.socket, reached: list[str]) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return
        reached.append(f"connected to the {name} server")


def run(hostile: Hostile, box: Box, around: Surroundings, secrets: tuple[str, ...] = ()) -> Outcome:
    escape = hostile.kind == "escape"
    return box.run(
        Program(
            answer=(around.prelude(secrets) if escape else "") + hostile.source,
            entry_point="attempt" if escape else "double",
            tests=_ATTEMPT if escape else _DOUBLE,
            timeout_s=_TIMEOUT_S[hostile.kind],
        )
    )


def complaint(hostile: Hostile, outcome: Outcome) -> str:
    """What is wrong with this ending, or nothing."""
    if hostile.kind == "escape":
        return "" if outcome.ending is Ending.PASSED else f"{outcome.ending}: {outcome.error}"
    if outcome.ending in {Ending.PASSED, Ending.HARNESS}:
        return f"it ended as {outcome.ending}: {outcome.error}"
    # On a busy machine anything may run into its deadline.
    fine = not hostile.ends or outcome.ending in hostile.ends | {Ending.TIMEOUT}
    return "" if fine else f"{outcome.ending}: {outcome.error}"


def still_works(box: Box) -> bool:
    """Whether a right answer passes and a wrong one fails."""
    right = Program(
        answer="def double(x): return x * 2 if type(x) is not list else [2 * y for y in x]",
        entry_point="double",
        tests=_DOUBLE,
    )
    wrong = Program(answer="def double(x): return x", entry_point="double", tests=_DOUBLE)
    return box.run(right).ending is Ending.PASSED and box.run(wrong).ending is Ending.ASSERTION


def failures(box: Box, around: Surroundings, secrets: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each program's name with what is wrong, or nothing; the box must go on after every one."""
    for hostile in corpus():
        outcome = run(hostile, box, around, secrets)
        wrong = [complaint(hostile, outcome), *around.changes(), "" if still_works(box) else "the box no longer works"]
        yield f"{hostile.kind}/{hostile.name} ({outcome.ending})", "; ".join(filter(None, wrong))


def main() -> int:
    """Run the corpus here at the level that holds and at that of an older kernel; arguments are files that must stay
    unread."""
    bad = 0
    for newest_landlock in (1 << 16, 4):
        with surroundings() as around, Box(workers=2, newest_landlock=newest_landlock) as box:
            print(f"level {box.level}")
            if box.level is Level.NONE:
                return 1
            for name, wrong in failures(box, around, tuple(sys.argv[1:])):
                bad += bool(wrong)
                print(f"{'BAD ' if wrong else 'held'} {name} {wrong}", flush=True)
    print(f"{bad} programs were not held")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
