"""The index follows the directory, survives its neighbours, and is never needed to have the measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import fields
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from tests.fakes.artifacts import AT, measurement
from tests.fakes.duckdb_file import make_newer
from tjbench.compare.artifact import ShardRecord
from tjbench.compare.history import Entry, entry_of
from tjbench.errors import UsageError
from tjbench.store.artifacts import read_file, write_artifact
from tjbench.store.history import COLUMNS, INDEX, MIGRATIONS, open_history


def stored(results: Path, count: int = 2) -> list[Path]:
    return [write_artifact(measurement("pf", "pp", created_at=AT + timedelta(days=n)), results) for n in range(count)]


def files(results: Path) -> set[str]:
    return {entry.file for entry in open_history(results).entries}


def test_an_entry_comes_back_as_it_went_in(tmp_path: Path) -> None:
    (path,) = stored(tmp_path, 1)
    expected = entry_of(read_file(path), sha256(path.read_bytes()).hexdigest(), path.name)
    assert open_history(tmp_path).entries == [expected]  # taken in
    assert open_history(tmp_path).entries == [expected]  # read from the index


def test_every_field_has_its_column() -> None:
    assert list(COLUMNS) == [f.name for f in fields(Entry)]


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    first, second = stored(tmp_path)
    assert open_history(tmp_path).n_read == 2
    before = (tmp_path / INDEX).stat().st_mtime_ns
    again = open_history(tmp_path)
    assert (again.n_read, again.n_removed, (tmp_path / INDEX).stat().st_mtime_ns) == (0, 0, before)
    first.unlink()
    os.utime(second, ns=(1, 1))
    stored(tmp_path, 1)
    changed = open_history(tmp_path)
    assert (changed.n_read, changed.n_removed, len(changed.entries)) == (2, 1, 2)


def test_what_is_no_measurement_is_listed_and_skipped_each_time(tmp_path: Path) -> None:
    stored(tmp_path, 1)
    (tmp_path / "tjbench_bad.json").write_text("{")
    shard = ShardRecord(index=1, count=2, n_tasks=4, prompts_revision="p", checks_revision="c")
    part = write_artifact(measurement("pf", "pp").model_copy(update={"shard": shard}), tmp_path)
    for _ in range(2):
        history = open_history(tmp_path)
        assert len(history.entries) == 1
        assert "not JSON" in history.rejected["tjbench_bad.json"]
        assert "shard" in history.rejected[part.name]


def test_nothing_is_left_beside_the_index(tmp_path: Path) -> None:
    paths = stored(tmp_path)
    open_history(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([INDEX, *(p.name for p in paths)])


def test_a_directory_that_takes_no_file_is_read_without_keeping_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    elsewhere.mkdir()
    stored(results)
    real = tempfile.TemporaryDirectory

    def refused(**where: object) -> tempfile.TemporaryDirectory[str]:
        if "dir" in where:  # root, who runs tests in containers, may write everywhere
            raise PermissionError(13, "Permission denied")
        return real(dir=elsewhere)

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refused)
    history = open_history(results)
    assert (len(history.entries), history.unwritable) == (2, "Permission denied")
    assert not (results / INDEX).exists()
    assert not list(elsewhere.iterdir())
    with pytest.raises(UsageError, match="Permission denied"):
        open_history(results, anew=True)


def other_program(index: Path) -> None:
    with duckdb.connect(str(index)) as database:
        database.execute("CREATE TABLE spans (id INTEGER)")


def newer_bench(index: Path) -> None:
    with duckdb.connect(str(index)) as database:
        database.execute("CREATE TABLE migrations (name VARCHAR)")
        database.execute("INSERT INTO migrations VALUES ('0999_later')")


def no_database(index: Path) -> None:
    index.write_text("no database")


def cut_off(index: Path) -> None:
    open_history(index.parent)
    index.write_bytes(index.read_bytes()[:9_000])


def newer_duckdb(index: Path) -> None:
    open_history(index.parent)
    make_newer(index)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (other_program, "something else"),
        (newer_bench, "newer TokenJam Bench made it: 0999_later"),
        (newer_duckdb, "a newer DuckDB wrote it"),
        (no_database, "not a valid DuckDB database"),
        (cut_off, "read enough bytes"),
    ],
)
def test_an_index_that_cannot_be_used_says_how_to_make_it_again(tmp_path: Path, spoil: object, why: str) -> None:
    stored(tmp_path)
    spoil(tmp_path / INDEX)  # type: ignore[operator]
    with pytest.raises(UsageError, match=why) as caught:
        open_history(tmp_path)
    assert f"tjb history ingest --results {tmp_path}" in caught.value.fix
    assert len(open_history(tmp_path, anew=True).entries) == 2
    assert len(open_history(tmp_path).entries) == 2


def test_an_index_that_another_program_writes_is_one_clear_error(tmp_path: Path) -> None:
    stored(tmp_path)
    open_history(tmp_path)
    script = f"import duckdb; d = duckdb.connect({str(tmp_path / INDEX)!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(UsageError, match="another program has it open"):
            open_history(tmp_path)
        holder.communicate("\n")
    assert len(open_history(tmp_path).entries) == 2


def test_several_that_take_in_at_once_each_leave_a_whole_index(tmp_path: Path) -> None:
    paths = stored(tmp_path, 5)
    script = (
        f"from pathlib import Path; from tjbench.store.history import open_history as o; o(Path({str(tmp_path)!r}))"
    )
    running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert files(tmp_path) == {path.name for path in paths}


def test_a_migration_is_applied_once_and_by_name(tmp_path: Path) -> None:
    stored(tmp_path, 1)
    open_history(tmp_path)
    stored(tmp_path, 1)
    open_history(tmp_path)
    with duckdb.connect(str(tmp_path / INDEX), read_only=True) as database:
        assert database.execute("SELECT name FROM migrations").fetchall() == [(name,) for name in MIGRATIONS]


def test_an_index_of_an_older_bench_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = stored(tmp_path)
    open_history(tmp_path)
    later = {"0003_note": "ALTER TABLE files ADD COLUMN note VARCHAR; DELETE FROM files; DELETE FROM measurements"}
    monkeypatch.setattr("tjbench.store.history.MIGRATIONS", {**MIGRATIONS, **later})
    monkeypatch.setattr("tjbench.store.history._append", _padded)
    assert files(tmp_path) == {path.name for path in paths}


def test_an_index_from_before_early_stops_is_read_anew(tmp_path: Path) -> None:
    (path,) = stored(tmp_path, 1)
    state = path.stat()
    with duckdb.connect(str(tmp_path / INDEX)) as database:
        database.execute("CREATE TABLE migrations (name VARCHAR)")
        database.execute("INSERT INTO migrations VALUES ('0001_measurements')")
        database.execute(MIGRATIONS["0001_measurements"])
        database.execute("INSERT INTO files VALUES (?, ?, ?, NULL)", [path.name, state.st_size, state.st_mtime_ns])
    (entry,) = open_history(tmp_path).entries
    assert (entry.file, entry.stopped) == (path.name, False)


def _padded(database: duckdb.DuckDBPyConnection, table: str, types: list[str], columns: list[list[object]]) -> None:
    """What the version that adds the column would do."""
    more = ", NULL" if table == "files" else ""
    values = ", ".join(f"unnest(?::{kind}[])" for kind in types)
    database.execute(f"INSERT INTO {table} SELECT {values}{more}", columns)


def test_a_missing_directory_is_refused_and_an_empty_one_holds_nothing(tmp_path: Path) -> None:
    assert open_history(tmp_path).entries == []
    with pytest.raises(UsageError, match="there is no directory"):
        open_history(tmp_path / "missing")
