"""A user's own TokenJam history: stores, exports and plain lists of turns. The door tells them apart by content."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tjbench.errors import UsageError
from tjbench.suites import near_file
from tjbench.suites.telemetry.selection import Selection
from tjbench.suites.telemetry.turn import Census, Turn

__all__ = ["History", "Selection", "open_history"]

_MAGIC = b"DUCK"
_MAGIC_AT = 8


class History(Protocol):
    """Recorded calls. ``census`` counts every one with its fate; ``turns`` yields those that can be replayed, few of
    them held at a time, and takes out of the census what turns out to be no text."""

    @property
    def census(self) -> Census: ...

    def turns(self, selection: Selection) -> Iterator[Turn]: ...


@contextmanager
def open_history(path: Path, selection: Selection, original: tuple[str, str] | None = None) -> Iterator[History]:
    """The history in ``path``, which is never written to; keep it open shortly, since TokenJam waits meanwhile.

    ``original`` is the ``(provider, model)`` of records that name no model. Raises ``UsageError`` for what cannot be
    read.
    """
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(path.stat().st_mode):
                raise UsageError(f"{path} is not a file", fix="name a store of TokenJam, or an export of it")
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except IsADirectoryError:
        raise UsageError(f"{path} is a directory", fix="name the store in it: telemetry.duckdb") from None
    except FileNotFoundError:
        raise UsageError(f"cannot read {path}", why="there is no such file", fix=near_file(path)) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
    if head[_MAGIC_AT:] == _MAGIC:
        from tjbench.suites.telemetry.store import open_store

        with open_store(path, selection) as store:
            yield store
    elif path.suffix in (".duckdb", ".db") or b"\0" in head:
        why = "it does not begin as a DuckDB file does"
        raise UsageError(f"{path} is no TokenJam store", why=why, fix="name TokenJam's own: ~/.tj/telemetry.duckdb")
    else:
        from tjbench.suites.telemetry.export import Export

        yield Export(path, selection, original)
