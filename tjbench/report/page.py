"""What a report says, before it is markdown or HTML: phrases, tables and sections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BOUNDARY = (
    "This is an offline measurement on these suites. It is not a runtime safety certification, "
    "and it says nothing about other tasks."
)
LISTED = 20


@dataclass(frozen=True, slots=True)
class Code:
    """An id, a model or a command, shown verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address that the program made itself; a report links to nothing else."""

    url: str


Phrase = tuple[str | Code | Link, ...]
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

    icon: str
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


def joined(items: Iterable[Phrase], separator: str = ", ") -> Phrase:
    """Phrases in a row with ``separator`` between them."""
    parts: list[str | Code | Link] = []
    for item in items:
        parts.extend([separator, *item] if parts else item)
    return tuple(parts)


def listing(ids: Sequence[str], most: int = LISTED) -> Phrase:
    """The first ids as code, and how many more there are."""
    shown = joined((Code(text),) for text in ids[:most])
    return (*shown, f" and {len(ids) - most:,} more") if len(ids) > most else shown


def stacked(table: Table) -> tuple[Table, ...]:
    """Each row as a table of its own with one line for each column: fits where the whole would not."""
    return tuple(
        Table(header=(table.header[0], row[0]), rows=tuple(zip(table.header[1:], row[1:], strict=True)))
        for row in table.rows
    )
