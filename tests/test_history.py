"""`tjb history` through its door: what it prints where, and with which code it ends."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.artifacts import AT, measurement
from tests.fakes.terminal import Terminal, open_terminal
from tjbench.store.artifacts import write_artifact

WHEN = {"0.10.0": AT, "0.9.0": AT + timedelta(days=1)}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """Two measurements of one row, of which the older is of the newer tokenjam, and a broken file."""
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        for version, at in WHEN.items():
            write_artifact(measurement("pf", "pp", version=version, created_at=at), opened.root / "results")
        (opened.root / "results/tjbench_bad.json").write_text("{")
        yield opened


def test_the_list_is_newest_first_and_says_what_it_read_and_skipped(desk: Terminal) -> None:
    said = desk.tjb("history", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert [entry["tokenjam_version"] for entry in found["measurements"]] == ["0.9.0", "0.10.0"]
    assert list(found["skipped"]) == ["tjbench_bad.json"]
    assert "index: 3 files read\n" in said.err
    assert "skipped tjbench_bad.json: not JSON" in said.err
    assert "index:" not in desk.tjb("history").err


def test_a_trend_is_in_the_order_of_versions(desk: Terminal) -> None:
    (series,) = json.loads(desk.tjb("history", "trend", "--json").out)["series"]
    assert [step["tokenjam_version"] for step in series["steps"]] == ["0.9.0", "0.10.0"]
    assert series["slot"] == "recommended"
    assert "`0.10.0`" in desk.tjb("history", "trend").out


def test_csv_holds_the_lines_of_the_json(desk: Terminal) -> None:
    (entry,) = json.loads(desk.tjb("history", "list", "--version", "0.9", "--json").out)["measurements"]
    (line,) = csv.DictReader(io.StringIO(desk.tjb("history", "list", "--version", "0.9", "--csv").out))
    assert (line["id"], line["created_at"]) == (entry["id"], entry["created_at"])
    assert float(line["delta_pp"]) == entry["delta_pp"] == 50


def test_show_prints_what_report_prints(desk: Terminal) -> None:
    entry = json.loads(desk.tjb("history", "--limit", "1", "--json").out)["measurements"][0]
    for form in ([], ["--json"]):
        shown = desk.tjb("history", "show", entry["id"][:8], *form)
        assert (shown.code, shown.out) == (0, desk.tjb("report", f"results/{entry['file']}", *form).out)


def test_ingest_makes_the_index_again_whatever_lies_there(desk: Terminal) -> None:
    (desk.root / "results/history.duckdb").write_text("no database")
    refused = desk.tjb("history")
    assert refused.code == 2
    assert "tjb history ingest --results results" in refused.err
    made = desk.tjb("history", "ingest")
    assert (made.code, made.out) == (0, "results/history.duckdb: 2 measurements, 1 file skipped\n")
    assert desk.tjb("history").code == 0


def test_an_empty_directory_says_so_and_is_no_mistake(desk: Terminal) -> None:
    (desk.root / "empty").mkdir()
    said = desk.tjb("history", "--results", "empty")
    assert said.code == 0
    assert "No artifacts here." in said.out


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--results absent", "there is no directory absent"),
        ("forget", "cannot 'forget'"),
        ("show", "needs a measurement"),
        ("show nothing", "no measurement is called 'nothing'"),
        ("show tjbench_humaneval", "names several"),
        ("trend abc", "takes no measurement"),
        ("ingest --suite humaneval", "takes no filter"),
        ("ingest --csv", "prints no table"),
        ("list --json --csv", "cannot both"),
        ("list --since yesterday", "'yesterday' is no date"),
        ("list --limit 0", "--limit"),
    ],
)
def test_a_mistake_is_one_clear_message_and_exit_2(desk: Terminal, line: str, why: str) -> None:
    said = desk.tjb("history", *line.split())
    assert (said.code, said.out) == (2, "")
    assert why in said.err
    assert "Traceback" not in said.err
