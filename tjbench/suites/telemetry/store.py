"""A TokenJam store (DuckDB) read without a trace: read-only, closed early, and as a copy where TokenJam holds it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from tjbench.errors import UsageError
from tjbench.suites.telemetry.conversation import NotText, conversation_of, text_of
from tjbench.suites.telemetry.selection import Selection
from tjbench.suites.telemetry.turn import NAMESPACE, UNNAMED, Census, Fate, Turn, usage_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS = 2_000
"""Rows that are held at a time."""
_COPIES = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEEDED = ("span_id", "provider", "model", "start_time", "attributes")
_OPTIONAL = {
    "agent_id": "VARCHAR",
    "name": "VARCHAR",
    "status_code": "VARCHAR",
    "duration_ms": "DOUBLE",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "cache_tokens": "BIGINT",
    "cache_write_tokens": "BIGINT",
    "cost_usd": "DOUBLE",
    "request_tools": "JSON",
    "pricing_source": "VARCHAR",
}
"""Columns that some versions of TokenJam lack (cache_write_tokens 0.3, request_tools 0.5.2, pricing_source 0.6.4)."""
# A dot inside a key has to be quoted: the unquoted path finds nothing.
PROMPT, ANSWER = '$."gen_ai.prompt.content"', '$."gen_ai.completion.content"'
_KEYS = (
    PROMPT,
    ANSWER,
    '$."gen_ai.response.id"',
    '$."tj.call_id"',
    '$."tokenjam.llm.streaming"',
    '$."gen_ai.request.stream"',
    '$."input.value"',
    '$."gen_ai.input.messages"',
    '$."gen_ai.prompt.0.content"',
)


class Store:
    """An open store. ``census`` counts every call with its fate; ``turns`` yields what can be replayed, and takes out
    of the census what turns out to be no text."""

    def __init__(self, connection: DuckDBPyConnection, path: Path, selection: Selection) -> None:
        self._connection = connection
        self._columns = _columns(connection, path)
        self.census = Census()
        self._rows_read = 0
        self._sort(selection)

    def turns(self, selection: Selection) -> Iterator[Turn]:
        """What ``selection`` wants of the calls that were counted; in time where there is a ``limit``."""
        wanted = sorted(selection.originals) if selection.originals is not None else None
        where = "" if wanted is None else "AND original IN (SELECT unnest($1))"
        given = [] if wanted is None else [wanted]
        if selection.limit is None:
            yield from self._read(f"SELECT row FROM call WHERE fate = 'replayable' {where}", given)
            return
        left, offset = selection.limit, 0
        while left > 0:
            page = max(left, 100)
            rows = f"SELECT row FROM call WHERE fate = 'replayable' {where} ORDER BY moment, span_id LIMIT {page}"
            for turn in self._read(f"{rows} OFFSET {offset}", given, ordered=True):
                yield turn
                left -= 1
                if left == 0:
                    return
            if self._rows_read < page:
                return
            offset += page

    def _sort(self, selection: Selection) -> None:
        """One narrow row a call with its fate, in a table of this connection's own; no text is kept in it."""
        asked: list[object] = []
        filters: list[str] = []
        if selection.since is not None:
            asked.append(int(selection.since.timestamp() * 1_000_000))
            filters.append(f"epoch_us(start_time) >= ${len(asked)}")
        if selection.agent is not None:
            asked.append(selection.agent)
            filters.append(f"agent_id IS NOT DISTINCT FROM ${len(asked)}")
        where = " AND ".join(filters) or "true"
        self._connection.execute(_SORT.format(calls=self._calls(), keys=_listed(_KEYS), where=where), asked)
        for fate, original, number in self._connection.execute(
            "SELECT fate, original, count(*) FROM call GROUP BY ALL"
        ).fetchall():
            self.census.count(Fate(fate), original, number)
        counted = self._connection.execute("SELECT count(*) FROM spans WHERE model IS NOT NULL").fetchall()[0][0]
        self.census.count(Fate.NOT_SELECTED, number=counted - self.census.total)

    def _calls(self) -> str:
        lacking = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in _OPTIONAL.items() if name not in self._columns]
        return ", ".join(["rowid AS row", *_NEEDED, *(n for n in _OPTIONAL if n in self._columns), *lacking])

    def _read(self, rows: str, given: Sequence[object], *, ordered: bool = False) -> Iterator[Turn]:
        order = "ORDER BY moment, span_id" if ordered else ""
        found = self._connection.execute(
            _READ.format(calls=self._calls(), rows=rows, keys=_listed((PROMPT, ANSWER)), name=NAMESPACE, order=order),
            given,
        )
        self._rows_read = 0
        while chunk := found.fetchmany(ROWS):
            self._rows_read += len(chunk)
            for row in chunk:
                turn = _turn(row)
                if turn is None:
                    self.census.withdraw(f"{row[2] or UNNAMED}:{row[3]}")
                else:
                    yield turn


# Text stays where it is: only whether there is any decides. Duplicates share the provider's id of a response; the
# record with an answer, then TokenJam's own, stands for the call.
_SORT = """
CREATE TEMP TABLE call AS
WITH raw AS (SELECT {calls} FROM spans WHERE model IS NOT NULL),
picked AS (
  SELECT row, span_id, coalesce(provider, 'unknown') || ':' || model AS original, epoch_us(start_time) AS moment,
    name = 'gen_ai.llm.call' AS is_own, status_code = 'error' AS is_error, request_tools IS NOT NULL AS offered,
    json_extract_string(attributes, [{keys}]) AS a
  FROM raw WHERE {where}),
known AS (
  SELECT row, span_id, original, moment, is_own, is_error, offered,
    a[1] IS NOT NULL AS asked, a[2] IS NOT NULL AS answered,
    trim(a[2], E' \\t\\n\\r') IN ('', '[]') AS is_empty, coalesce(a[3], a[4]) AS response,
    coalesce(a[5], a[6]) = 'true' AS is_stream, coalesce(a[7], a[8], a[9]) IS NOT NULL AS elsewhere
  FROM picked),
ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY coalesce(response, span_id) ORDER BY answered DESC, asked DESC, is_own DESC, moment, row) AS place
  FROM known)
SELECT row, span_id, original, moment, CASE
    WHEN place > 1 THEN 'duplicate'
    WHEN is_error THEN 'errored'
    WHEN asked AND answered AND is_empty THEN 'empty_answer'
    WHEN asked AND answered THEN 'replayable'
    WHEN is_stream THEN 'streamed'
    WHEN asked AND offered THEN 'tools_only'
    WHEN asked THEN 'no_answer'
    WHEN answered THEN 'no_prompt'
    WHEN elsewhere THEN 'other_keys'
    ELSE 'no_text' END AS fate
FROM ranked
"""
_READ = """
SELECT span_id, left(sha256('{name}' || span_id), 16), provider, model, moment, a[1], a[2], input_tokens, output_tokens,
  cache_tokens, cache_write_tokens, cost_usd, CASE WHEN duration_ms >= 0 THEN duration_ms / 1000 END, pricing_source
FROM (
  SELECT *, epoch_us(start_time) AS moment, json_extract(attributes, [{keys}]) AS a
  FROM (SELECT {calls} FROM spans) WHERE row IN ({rows})) {order}
"""


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f"'{key}'" for key in keys)


def _columns(connection: DuckDBPyConnection, path: Path) -> set[str]:
    found = connection.execute("SELECT column_name FROM information_schema.columns WHERE table_name = 'spans'")
    columns = {name for (name,) in found.fetchall()}
    lacking = [name for name in _NEEDED if name not in columns]
    if lacking:
        what = f"its table spans lacks {', '.join(lacking)}" if columns else "it has no table spans"
        raise UsageError(f"{path} is no TokenJam store", why=what, fix="name TokenJam's own: ~/.tj/telemetry.duckdb")
    return columns


def _turn(row: Sequence[Any]) -> Turn | None:
    """``None`` where the prompt is no text."""
    span_id, name, provider, model, at, prompt, answer, read, written, cached, stored, cost, seconds, source = row
    try:
        conversation = conversation_of(from_json(prompt))
        text = text_of(from_json(answer))
    except (NotText, ValueError, RecursionError):
        return None
    return Turn(
        id=name,
        salt=span_id,
        provider=provider or UNNAMED,
        model=model,
        messages=conversation.messages,
        answer=text,
        usage=usage_of(read, written, cached, stored),
        cost_usd=cost,
        at=_instant(at),
        latency_s=seconds,
        has_tools=conversation.has_tools,
        guessed=None if source is None else source == "default_fallback",
    )


def _instant(microseconds: int | None) -> datetime | None:
    try:
        return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


@contextmanager
def open_store(path: Path, selection: Selection) -> Iterator[Store]:
    """The store at ``path``, never written to. Where TokenJam holds it, a private copy is read and removed after.

    Raises ``UsageError`` for a file of a newer DuckDB, one that is damaged, and one that is no store of TokenJam.
    """
    import duckdb

    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tjbench-replay-")))
        try:
            try:
                connection = _connect(path, scratch)
            except duckdb.IOException as error:
                if "lock" not in str(error):
                    raise
                connection = _connect(_copied(path, scratch), scratch)
            stack.callback(connection.close)
            store = Store(connection, path, selection)
            yield store
        except duckdb.Error as error:
            raise _unreadable(path, str(error), duckdb.__version__) from error


def _connect(path: Path, scratch: Path) -> DuckDBPyConnection:
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        # What does not fit into memory is text of customers: it goes where nobody else reads.
        "temp_directory": str(scratch / "spill"),
        "memory_limit": "512MB",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    connection = duckdb.connect(str(path), read_only=True, config=settings)
    connection.execute("SET enable_progress_bar = false")  # it would be drawn on stdout
    return connection


def _copied(path: Path, scratch: Path) -> Path:
    """A copy of the store with what its owner has not merged into it yet, neither changed in between."""
    held = path.resolve()  # the owner's log lies beside the file itself, not beside a link to it
    wal = held.with_name(held.name + ".wal")
    copy = scratch / "copy.duckdb"
    for _ in range(_COPIES):
        before = (_state(held), _state(wal))
        try:
            shutil.copyfile(held, copy)
            copy.with_name(copy.name + ".wal").unlink(missing_ok=True)
            if before[1] is not None:
                shutil.copyfile(wal, copy.with_name(copy.name + ".wal"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UsageError(
                f"{path} is held by a running TokenJam and cannot be copied",
                why=error.strerror or str(error),
                fix="stop tj serve, or write an export and replay that: tj export --format json --output history.jsonl",
            ) from error
        if before == (_state(held), _state(wal)):
            return copy
    raise UsageError(
        f"{path} changes faster than it can be copied",
        why="a running TokenJam writes to it",
        fix="stop tj serve, or write an export and replay that: tj export --format json --output history.jsonl",
    )


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _unreadable(path: Path, words: str, version: str) -> UsageError:
    first = words.splitlines()[0][:300]
    if "version number" in words:
        return UsageError(
            f"{path} was written by a newer DuckDB than the {version} installed here",
            why=first,
            fix="pip install --upgrade duckdb, or write an export with that TokenJam: tj export --format json",
        )
    return UsageError(f"{path} cannot be read", why=first, fix="name a store of TokenJam, or an export of it")
