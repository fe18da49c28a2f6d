"""What a report says, before it is markdown or HTML: phrases, tables and sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

BOUNDARY = (
    "This is an offline measurement on these suites. It is not a runtime safety certification, "
    "and it says nothing about other tasks."
)
LISTED = 20
_UNDER = re.compile(r"\n {2}(?=(?:why|fix): )")
# A word of digits alone is a number; a backtick beside the id would open or end a code span of its own.
_COMMIT_ID = re.compile(r"(?<![\w`/:.-])((?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w`/-])")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`|\\]+")


@dataclass(frozen=True, slots=True)
class Code:
    """An id, a model or a command, shown verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address that the program made itself; a report links to nothing else."""

    url: str


@dataclass(frozen=True, slots=True)
class Newline:
    """What follows stands on a line of its own, under what comes before. Only a reason holds any."""


def is_address(text: str) -> bool:
    """Whether ``text`` is a web address that no format can read as anything else."""
    return _ADDRESS.fullmatch(text) is not None


class Mark(StrEnum):
    """The sign of an outcome at a glance: a symbol in markdown, a coloured dot in HTML."""

    GOOD = "good"
    BAD = "bad"
    BROKEN = "broken"
    UNSURE = "unsure"
    NONE = "none"


Part = str | Code | Link | Mark | Newline
Phrase = tuple[Part, ...]
"""A piece of text. Its parts may come from anyone: each format escapes all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``right`` holds the columns of numbers, counted from 0."""

    header: tuple[Phrase, ...]
    rows: tuple[tuple[Phrase, ...], ...]
    right: frozenset[int] = frozenset()
    title: Phrase = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Details of one row."""

    title: Phrase
    lines: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """In reading order. ``alerts`` are what turns numbers into something else than a measurement; ``lead`` says why the
    title says what it says; ``steps`` are what to do now, under their first line; ``facts`` tell how the numbers came
    about."""

    mark: Mark
    title: Phrase
    lead: tuple[Phrase, ...]
    alerts: tuple[Phrase, ...] = ()
    tables: tuple[Table, ...] = ()
    legend: Phrase = ()
    steps: tuple[Phrase, ...] = ()
    sections: tuple[Section, ...] = ()
    facts: tuple[Phrase, ...] = ()


def sentence(text: str) -> str:
    """``text`` with a full stop, unless it ends in punctuation."""
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."


def reason_lines(text: str) -> Phrase:
    """A reason with its why and fix on lines of their own, and with the commits that it names as code."""
    parts: list[Part] = []
    for line in _UNDER.split(text):
        parts += [Newline()] if parts else []
        parts += told(sentence(line))
    return tuple(parts)


def told(text: str) -> Phrase:
    """A sentence of ours with the commits that it names as code."""
    pieces = _COMMIT_ID.split(text)
    return tuple(Code(piece) if index % 2 else piece for index, piece in enumerate(pieces) if piece)


def lines_of(phrase: Phrase) -> list[Phrase]:
    """A reason's lines, parted at each ``Newline``."""
    lines: list[list[Part]] = [[]]
    for part in phrase:
        if isinstance(part, Newline):
            lines.append([])
        else:
            lines[-1].append(part)
    return [tuple(line) for line in lines]


def joined(items: Iterable[Phrase], separator: str = ", ") -> Phrase:
    """Phrases in a row with ``separator`` between them."""
    parts: list[Part] = []
    for item in items:
        parts.extend([separator, *item] if parts else item)
    return tuple(parts)


def listing(ids: Sequence[str], most: int = LISTED, surely: Sequence[str] = ()) -> Phrase:
    """The first ids as code, those of ``surely`` marked, and how many more there are."""
    sure = frozenset(surely)
    shown = joined((Code(text), " (really broke)") if text in sure else (Code(text),) for text in ids[:most])
    return (*shown, f" and {len(ids) - most:,} more") if len(ids) > most else shown


def stacked(table: Table) -> tuple[Table, ...]:
    """Each row as a table of its own with one line for each column: fits where the whole would not."""
    return tuple(
        Table(header=(table.header[0], row[0]), rows=tuple(zip(table.header[1:], row[1:], strict=True)))
        for row in table.rows
    )
