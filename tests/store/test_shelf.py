from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.artifacts import AT, measurement
from tjbench.ci import series_of
from tjbench.config import Config
from tjbench.errors import UsageError
from tjbench.store.artifacts import dump
from tjbench.store.shelf import open_shelf


def put(directory: Path, name: str, text: str) -> None:
    (directory / f"tjbench_{name}.json").write_text(text)


def test_a_shelf_knows_rows_and_versions_without_looking_into_numbers(tmp_path: Path) -> None:
    sound = measurement("pp", "pf", version="0.6.0")
    put(tmp_path, "a", dump(sound))
    put(tmp_path, "b", dump(measurement("pp", "uu", version="0.7.0")))
    shelf = open_shelf(tmp_path)
    assert shelf.rejected == {}
    first, second = shelf.labels.values()
    assert (first.key, first.tokenjam_version, first.created_at) == (sound.key, "0.6.0", sound.created_at)
    assert (first.incomplete, second.incomplete) == (False, True)
    assert shelf.load(first) == sound


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"schema": "tjbench/2"}', "schema"),
        ('{"schema": "tjbench/1", "suite": {"name": "x"}}', "bench_version"),
    ],
)
def test_what_has_no_label_is_listed_with_why(tmp_path: Path, text: str, why: str) -> None:
    put(tmp_path, "bad", text)
    shelf = open_shelf(tmp_path)
    assert shelf.labels == {}
    assert why in shelf.rejected["tjbench_bad.json"]


def test_a_shown_artifact_that_its_tasks_do_not_bear_out_is_named_and_the_next_best_stands_in(tmp_path: Path) -> None:
    data = json.loads(dump(measurement("pp", "pf", created_at=AT + timedelta(days=1))))
    data["candidate_pass"] = 2
    put(tmp_path, "forged", json.dumps(data))
    put(tmp_path, "older", dump(measurement("pp", "pp")))
    series, decision = series_of(open_shelf(tmp_path), Config())
    assert [row.head and row.head.candidate_pass for row in series.rows] == [2]
    assert [row.head and row.head.created_at for row in series.rows] == [AT]
    assert any("tjbench_forged.json" in note and "candidate_pass" in note for note in decision.notes)
    assert series.superseded == ()


def test_only_the_last_steps_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    for minor in range(6):
        put(tmp_path, f"v{minor}", dump(measurement("p" * 30, "p" * 30, version=f"0.{minor}.0")))
    series, _ = series_of(open_shelf(tmp_path), Config(), most=2)
    assert [row.head and row.head.tokenjam_version for row in series.rows] == ["0.4.0", "0.5.0"]
    assert [row.baseline and row.baseline.tokenjam_version for row in series.rows] == ["0.3.0", "0.4.0"]
    assert series.earlier == 4


@pytest.mark.parametrize("most", [1, 2, 10])
def test_the_first_step_shown_is_held_against_the_last_complete_one_however_far_back(tmp_path: Path, most: int) -> None:
    marks = {"0.1.0": "p" * 50, "0.2.0": "u" * 50, "0.3.0": "u" * 50, "0.4.0": "f" * 50}
    for version, candidate in marks.items():
        put(tmp_path, version, dump(measurement("p" * 50, candidate, version=version)))
    series, decision = series_of(open_shelf(tmp_path), Config(), most)
    assert [row.head and row.head.tokenjam_version for row in series.rows] == list(marks)[-most:]
    assert series.earlier == max(0, len(marks) - most)
    last = series.rows[-1]
    assert last.baseline is not None
    assert last.baseline.tokenjam_version == "0.1.0"
    assert last.change is not None
    assert (last.change.b, last.change.c) == (50, 0)
    assert decision.exit_code == 1


def test_a_version_without_any_artifact_does_not_take_the_place_of_a_step(tmp_path: Path) -> None:
    for minor in range(4):
        put(tmp_path, f"v{minor}", dump(measurement("pp", "pp", version=f"0.{minor}.0")))
    forged = json.loads((tmp_path / "tjbench_v2.json").read_text()) | {"candidate_pass": 0.25}
    put(tmp_path, "v2", json.dumps(forged))
    shelf = open_shelf(tmp_path)
    series, _ = series_of(shelf, Config(), 2)
    assert [row.head and row.head.tokenjam_version for row in series.rows] == ["0.1.0", "0.3.0"]
    assert [row.baseline and row.baseline.tokenjam_version for row in series.rows] == ["0.0.0", "0.1.0"]
    assert list(shelf.rejected) == ["tjbench_v2.json"]
    assert series.earlier == 1


def test_a_damaged_file_that_is_not_shown_is_not_looked_into(tmp_path: Path) -> None:
    for minor in range(5):
        put(tmp_path, f"v{minor}", dump(measurement("pp", "pp", version=f"0.{minor}.0")))
    forged = json.loads((tmp_path / "tjbench_v0.json").read_text()) | {"candidate_pass": 0.25}
    put(tmp_path, "v0", json.dumps(forged))
    few, all_ = open_shelf(tmp_path), open_shelf(tmp_path)
    series_of(few, Config(), 1)
    series_of(all_, Config())
    assert (list(few.rejected), list(all_.rejected)) == ([], ["tjbench_v0.json"])


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no directory"):
        open_shelf(tmp_path / "absent")
