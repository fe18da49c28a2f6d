"""`history.duckdb` beside the artifacts: an index of them, never their source. It can always be made again."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tjbench.compare.history import Entry, entry_of
from tjbench.errors import UsageError
from tjbench.store.artifacts import MAX_BYTES, PATTERN, parse_artifact
from tjbench.store.files import read_regular

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INDEX = "history.duckdb"
BATCH = 500
SAFE: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false"}
"""What an index from elsewhere holds may read no other file and load no extension."""

COLUMNS: Mapping[str, str] = {
    "id": "VARCHAR",
    "file": "VARCHAR",
    "created_at": "TIMESTAMP",
    "tokenjam_version": "VARCHAR",
    "bench_version": "VARCHAR",
    "suite": "VARCHAR",
    "original_model": "VARCHAR",
    "candidate_model": "VARCHAR",
    "slot": "VARCHAR",
    "n_tasks": "BIGINT",
    "n_scored": "BIGINT",
    "original_pass": "DOUBLE",
    "candidate_pass": "DOUBLE",
    "delta_pp": "DOUBLE",
    "p_value": "DOUBLE",
    "original_cost_usd": "DOUBLE",
    "candidate_cost_usd": "DOUBLE",
    "cost_delta_pct": "DOUBLE",
    "claimed_saving_pct": "DOUBLE",
    "verdict": "VARCHAR",
    "incomplete": "BOOLEAN",
    "mock": "BOOLEAN",
    "default_rates": "BOOLEAN",
    "stopped": "BOOLEAN",
    "uncontrolled": "BOOLEAN",
}
"""The columns of ``measurements`` after every migration, one a field of ``Entry``. Times are UTC."""

# Append only. One that adds a column also empties both tables, so that every artifact is read again.
MIGRATIONS: Mapping[str, str] = {
    "0001_measurements": """
        CREATE TABLE files (name VARCHAR, size BIGINT, mtime_ns BIGINT, rejected VARCHAR);
        CREATE TABLE measurements (
            id VARCHAR, file VARCHAR, created_at TIMESTAMP, tokenjam_version VARCHAR, bench_version VARCHAR,
            suite VARCHAR, original_model VARCHAR, candidate_model VARCHAR, slot VARCHAR, n_tasks BIGINT,
            n_scored BIGINT, original_pass DOUBLE, candidate_pass DOUBLE, delta_pp DOUBLE, p_value DOUBLE,
            original_cost_usd DOUBLE, candidate_cost_usd DOUBLE, cost_delta_pct DOUBLE, claimed_saving_pct DOUBLE,
            verdict VARCHAR, incomplete BOOLEAN, mock BOOLEAN, default_rates BOOLEAN);
    """,
    "0002_early_stop": """
        ALTER TABLE measurements ADD COLUMN stopped BOOLEAN;
        DELETE FROM files;
        DELETE FROM measurements;
    """,
    "0003_uncontrolled_replays": """
        ALTER TABLE measurements ADD COLUMN uncontrolled BOOLEAN;
        DELETE FROM files;
        DELETE FROM measurements;
    """,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the index holds now, and what was done to bring it there. ``unwritable`` says why it was not kept."""

    entries: Sequence[Entry]
    rejected: Mapping[str, str]
    n_read: int = 0
    n_removed: int = 0
    unwritable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Files in the directory by name with size and time of change, and names that no database holds."""

    files: Mapping[str, tuple[int, int]]
    unnamed: Mapping[str, str] = field(default_factory=dict)


def open_history(results: Path, *, anew: bool = False) -> History:
    """Every measurement directly in ``results``, after the index took in what changed there since; ``anew`` makes the
    index again without looking at the one that is there.

    Raises ``UsageError`` where there is no such directory, where the index cannot be read, and with ``anew`` where it
    cannot be written.
    """
    seen = _seen(results)
    index = results / INDEX
    known = index.exists() and not anew
    if known:
        with _database(index, read_only=True) as database:
            if _applied(database, index) == list(MIGRATIONS) and _known_files(database) == seen.files:
                return _held(database, seen)
    try:
        place, unwritable = tempfile.TemporaryDirectory(dir=results, prefix=".history_"), ""
    except OSError as error:
        why = error.strerror or str(error)
        if anew:
            raise UsageError(f"cannot write to {results}", why=why) from error
        place, unwritable = tempfile.TemporaryDirectory(), why
    with place as directory:
        return _renewed(results, seen, Path(directory) / INDEX, known=known, unwritable=unwritable)


def _renewed(results: Path, seen: _Seen, copy: Path, *, known: bool, unwritable: str) -> History:
    """Bring a copy up to date and put it in the index's place in one step: a crash or another writer spoils nothing."""
    index = results / INDEX
    try:
        if known:
            shutil.copyfile(index, copy)
        with _database(copy, read_only=False) as database:
            _migrate(database, index)
            n_read, n_removed = _take_in(database, results, seen)
            history = _held(database, seen, n_read=n_read, n_removed=n_removed, unwritable=unwritable)
        if not unwritable:
            with copy.open("rb+") as file:
                os.fsync(file.fileno())
            copy.chmod(0o644)
            copy.replace(index)
            index.with_name(f"{INDEX}.wal").unlink(missing_ok=True)  # a write of another program to the one replaced
    except OSError as error:
        raise UsageError(f"cannot write {index}", why=error.strerror or str(error)) from error
    return history


@contextmanager
def _database(path: Path, *, read_only: bool) -> Iterator[DuckDBPyConnection]:
    """An index, open. Raises ``UsageError`` for whatever DuckDB says of it: it can be made again."""
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=read_only, config=SAFE) as database:
            yield database
    except duckdb.Error as error:
        raise _unreadable(path, _told(str(error))) from error


def _told(error: str) -> str:
    if re.search("database file with (storage )?version number", error):  # DuckDB 1 and 2
        return "a newer DuckDB wrote it"
    if "Could not set lock" in error:
        return "another program has it open for writing"
    return error.partition("\n")[0]


def _unreadable(path: Path, why: str) -> UsageError:
    fix = f"make it again from the artifacts: tjb history ingest --results {path.parent}"
    return UsageError(f"cannot use the index {path}", why=why, fix=fix)


def _seen(results: Path) -> _Seen:
    if not results.is_dir():
        raise UsageError(f"there is no directory {results}", fix="name one that holds tjbench_*.json artifacts")
    files, unnamed = {}, {}
    for path in sorted(results.glob(PATTERN)):
        try:
            path.name.encode()
            state = path.stat()
            files[path.name] = (state.st_size, state.st_mtime_ns)
        except UnicodeEncodeError:
            unnamed[ascii(path.name)] = "its name is not UTF-8"
        except OSError as error:
            unnamed[path.name] = error.strerror or str(error)
    return _Seen(files=files, unnamed=unnamed)


def _applied(database: DuckDBPyConnection, index: Path) -> list[str]:
    """Names of the migrations that made this index what it is, oldest first."""
    tables = {name for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "migrations" not in tables:
        raise _unreadable(index, "it is a database of something else")
    names = [name for (name,) in database.execute("SELECT name FROM migrations ORDER BY name").fetchall()]
    if unknown := [name for name in names if name not in MIGRATIONS]:
        raise _unreadable(index, f"a newer TokenJam Bench made it: {', '.join(unknown)}")
    return names


def _migrate(database: DuckDBPyConnection, index: Path) -> None:
    database.execute("CREATE TABLE IF NOT EXISTS migrations (name VARCHAR)")
    applied = _applied(database, index)
    for name, statements in MIGRATIONS.items():
        if name not in applied:
            database.execute(statements)
            database.execute("INSERT INTO migrations VALUES (?)", [name])


def _known_files(database: DuckDBPyConnection) -> dict[str, tuple[int, int]]:
    rows = database.execute("SELECT name, size, mtime_ns FROM files").fetchall()
    return {name: (size, changed) for name, size, changed in rows}


def _take_in(database: DuckDBPyConnection, results: Path, seen: _Seen) -> tuple[int, int]:
    """Forget what is gone or changed, read what is new; how many files were read and how many are gone."""
    known = _known_files(database)
    stale = [name for name, state in known.items() if seen.files.get(name) != state]
    for table, column in (("files", "name"), ("measurements", "file")):
        database.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT unnest(?::VARCHAR[]))", [stale])
    new = [name for name, state in seen.files.items() if known.get(name) != state]
    for start in range(0, len(new), BATCH):
        _insert(database, results, {name: seen.files[name] for name in new[start : start + BATCH]})
    return len(new), len(known.keys() - seen.files.keys())


def _insert(database: DuckDBPyConnection, results: Path, files: Mapping[str, tuple[int, int]]) -> None:
    entries, rejected = [], {}
    for name in files:
        try:
            content = read_regular(results / name, MAX_BYTES)
            entries.append(entry_of(parse_artifact(content, name), sha256(content).hexdigest(), name))
        except OSError as error:
            rejected[name] = error.strerror or str(error)
        except UsageError as error:
            rejected[name] = error.why or error.what
    values: list[list[Any]] = [[getattr(entry, column) for entry in entries] for column in COLUMNS]
    at = list(COLUMNS).index("created_at")
    values[at] = [moment.astimezone(UTC).replace(tzinfo=None) for moment in values[at]]
    _append(database, "measurements", list(COLUMNS.values()), values)
    states = [[state[i] for state in files.values()] for i in (0, 1)]
    reasons = [rejected.get(name) for name in files]
    _append(database, "files", ["VARCHAR", "BIGINT", "BIGINT", "VARCHAR"], [list(files), *states, reasons])


def _append(database: DuckDBPyConnection, table: str, types: Sequence[str], columns: list[list[Any]]) -> None:
    """Whole columns in one statement: a statement a row is hundreds of times slower."""
    database.execute(f"INSERT INTO {table} SELECT {', '.join(f'unnest(?::{kind}[])' for kind in types)}", columns)


def _held(database: DuckDBPyConnection, seen: _Seen, **told: Any) -> History:
    rows = database.execute(f"SELECT {', '.join(COLUMNS)} FROM measurements").fetchall()
    entries = [_entry(dict(zip(COLUMNS, row, strict=True))) for row in rows]
    bad = database.execute("SELECT name, rejected FROM files WHERE rejected IS NOT NULL ORDER BY name").fetchall()
    return History(entries=entries, rejected=dict(bad) | dict(seen.unnamed), **told)


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**row | {"created_at": row["created_at"].replace(tzinfo=UTC)})
