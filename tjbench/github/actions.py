"""How a step talks with the runner: its inputs, its output and summary files, and the commands on stdout."""

from __future__ import annotations

import io
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO

from tjbench.errors import UsageError

MAX_SUMMARY_BYTES = 1024 * 1024
MAX_ANNOTATIONS = 10

Level = Literal["error", "warning", "notice"]


def inputs(environ: Mapping[str, str]) -> dict[str, str]:
    """Every ``INPUT_*`` by its kebab-case name, stripped; an empty one is absent.

    ``INPUT_MAX-COST-USD`` is what the runner sets and wins over ``INPUT_MAX_COST_USD``, the spelling that a shell can
    export. Names the action does not have are returned as well: refusing them is the caller's.
    """
    found: dict[str, str] = {}
    for name, value in sorted(environ.items(), key=lambda pair: "-" not in pair[0]):
        key = name.removeprefix("INPUT_").lower().replace("_", "-").replace(" ", "-")
        if name.startswith("INPUT_") and key and value.strip():
            found.setdefault(key, value.strip())
    return found


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Append step outputs to the GITHUB_OUTPUT file; a value may hold anything, newlines and delimiters included."""
    blocks = []
    for name, value in outputs.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name):
            raise ValueError(f"{name!r} is not an output name")
        delimiter = _absent_from(value)
        blocks.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    _append(path, "".join(blocks))


def write_summary(path: Path, text: str, limit: int = MAX_SUMMARY_BYTES) -> bool:
    """Append ``text`` to the GITHUB_STEP_SUMMARY file; True when all of it fitted.

    GitHub drops a step's whole summary above ``limit`` bytes, what the file already holds included, so the text is cut
    after a line and says so.
    """
    held = path.stat().st_size if path.exists() else 0
    data = f"{text}\n".encode()
    if held + len(data) <= limit:
        _append(path, f"{text}\n")
        return True
    note = "\n*Cut here: a step summary holds 1 MiB. The report file has the rest.*\n"
    room = max(limit - held - len(note.encode()), 0)
    kept = data[:room][: data[:room].rfind(b"\n") + 1]
    if held + len(note.encode()) <= limit:
        _append(path, kept.decode() + note)
    return False


class Commands:
    """Workflow commands on one stream (https://docs.github.com/actions/reference/workflow-commands)."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._sent: Counter[str] = Counter()

    def mask(self, secret: str) -> None:
        """Have the runner hide ``secret`` in all later output; call it before anything else is printed."""
        for line in dict.fromkeys([secret, *secret.splitlines()]):
            if line.strip():
                self._command("add-mask", line)

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Fold what is printed inside under ``title``."""
        self._command("group", title)
        try:
            yield
        finally:
            self._command("endgroup", "")

    def annotation(self, level: Level, message: str, title: str = "") -> bool:
        """Annotate the run; False when GitHub would drop it (10 of a kind in a step) and it was only printed."""
        if self._sent[level] >= MAX_ANNOTATIONS:
            self.print(f"{level}: {title}: {message}" if title else f"{level}: {message}")
            return False
        self._sent[level] += 1
        self._command(level, message, title=title)
        return True

    def print(self, text: str) -> None:
        """Print text that others wrote: no line of it can run as a command."""
        token = _absent_from(text)
        self._stream.write(f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::\n")
        self._stream.flush()

    def stream(self) -> TextIO:
        """A stream for lines that others had a part in: each whole line is printed by ``print``."""
        return _Defused(self)

    def _command(self, name: str, data: str, **properties: str) -> None:
        given = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items() if value)
        self._stream.write(f"::{name}{' ' if given else ''}{given}::{_escape_data(data)}\n")
        self._stream.flush()


class _Defused(io.StringIO):
    """Passes whole lines on; what has no end yet waits for it."""

    def __init__(self, commands: Commands) -> None:
        super().__init__()
        self._commands = commands
        self._open_line = ""

    def write(self, text: str) -> int:
        *lines, self._open_line = (self._open_line + text).split("\n")
        if lines:
            # The runner still reads the older ##[command] anywhere in a line.
            self._commands.print("\n".join(lines).replace("##[", "# #["))
        return len(text)


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _absent_from(text: str) -> str:
    while (token := f"tjb-{secrets.token_hex(16)}") in text:
        pass
    return token


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written", why=str(error), fix="run the step as the runner starts it"
        ) from error
