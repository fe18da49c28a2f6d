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


def test_only_the_last_steps_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    for minor in range(6):
        put(tmp_path, f"v{minor}", dump(measurement("p" * 30, "p" * 30, version=f"0.{minor}.0")))
    series, _ = series_of(open_shelf(tmp_path), Config(), most=2)
    assert [row.head and row.head.tokenjam_version for row in series.rows] == ["0.4.0", "0.5.0"]
    assert [row.baseline and row.baseline.tokenjam_version for row in series.rows] == ["0.3.0", "0.4.0"]
    assert series.earlier == 4


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no directory"):
        open_shelf(tmp_path / "absent")
