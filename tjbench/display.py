"""Lines that change, on a stream: in place in a terminal, drawn by rich, and one after another everywhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_SECONDS = 15.0
NARROWEST = 24
"""In fewer columns nothing is drawn in place."""
_HERTZ = 8
_GAP = 2
_FIRST_TO_GO = (3, 2, 1, 4, 5)
"""Fields by how little they are missed where a line is too long."""


@dataclass(frozen=True, slots=True)
class Line:
    """What stands in one line: a name, and the same fields in each line, some of them empty."""

    name: str
    fields: tuple[str, ...]


Lines = Callable[[], Sequence[Line]]


class Display(Protocol):
    """Shows lines from when it is made until ``close``, which leaves the last of them; ``say`` goes above them."""

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


def open_display(stream: TextIO, lines: Lines) -> Display:
    """The display that ``stream`` bears. A CI job, a pipe, a terminal that cannot move its cursor, and one of hardly
    any width get plain lines."""
    if stream.isatty() and not os.environ.get("CI"):
        from rich.console import Console

        console = Console(file=stream, markup=False, highlight=False, emoji=False)
        if console.is_interactive and console.width >= NARROWEST:
            return _Live(console, lines)
    return _Plain(stream, lines)


class _Plain:
    """A line every 15 seconds, by a thread of its own, so that a run which stands still says so."""

    def __init__(self, stream: TextIO, lines: Lines) -> None:
        self._stream = stream
        self._lines = lines
        self._writing = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="progress", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        with self._writing:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        self._report()

    def _repeat(self) -> None:
        with suppress(OSError):  # nobody reads any more
            while not self._closed.wait(PLAIN_SECONDS):
                self._report()

    def _report(self) -> None:
        if lines := self._lines():
            self.say(" · ".join(f"{line.name}: {', '.join(filter(None, line.fields))}" for line in lines))


class _Live:
    """Lines that stay in place, a few times a second."""

    def __init__(self, console: Console, lines: Lines) -> None:
        from rich.live import Live

        self._console = console
        self._lines = lines
        # What is printed on stdout is not ours to move: it may be a document in a pipe.
        self._live = Live(console=console, get_renderable=self._table, refresh_per_second=_HERTZ, redirect_stdout=False)
        self._live.start(refresh=True)

    def say(self, text: str) -> None:
        self._console.out(text, highlight=False)

    def close(self) -> None:
        self._live.stop()

    def _table(self) -> Table:
        """One row a line, and never more than one: fields that have no room are left out, and a long name is cut."""
        from rich.table import Table
        from rich.text import Text

        lines = self._lines()
        table = Table.grid(padding=(0, _GAP, 0, 0))
        kept = _fitting(lines, self._console.width)
        table.add_column()
        for _ in kept:
            table.add_column(no_wrap=True, justify="right")
        for line in lines:
            cells = (line.name, *(line.fields[index] for index in kept))
            table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
        return table


def _fitting(lines: Sequence[Line], width: int) -> list[int]:
    """The fields, by index, that are filled in some line and have room in all."""
    from rich.cells import cell_len

    count = max((len(line.fields) for line in lines), default=0)
    widths = {index: max(cell_len(line.fields[index]) for line in lines) for index in range(count)}
    kept = [index for index in range(count) if widths[index]]
    name = max((cell_len(line.name) for line in lines), default=0)
    for index in _FIRST_TO_GO:
        if name + sum(_GAP + widths[kept_one] for kept_one in kept) < width:
            break
        kept = [other for other in kept if other != index]
    return kept
