"""A run split into shards and merged: the same measurement, and nothing less passes for one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal
from tjbench.errors import UsageError
from tjbench.shard import Shard
from tjbench.store.artifacts import load_path

TASKS = 31
PAIR = ("--original", "openai:big", "--candidate", "openai:small")
SUITE = ("--benchmark", "sums.jsonl")
TIMES = {"created_at", "latency_s", "at"}
"""What says when, and for how long: no two runs agree on it."""


class Models:
    """The small model gets every third sum wrong; ``refused`` numbers bring an error."""

    def __init__(self) -> None:
        self.refused: set[int] = set()

    def __call__(self, ask: Ask) -> Reply:
        number = int(add(ask.user).removeprefix("#### ")) - 1
        if number in self.refused and ask.model == "small":
            return Reply(text="", finish="content_filter")
        return Reply(text=add(ask.user, wrong=range(0, TASKS, 3) if ask.model == "small" else ()))


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], models: Models
) -> Iterator[Terminal]:
    with FakeProvider(models) as provider, open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(TASKS))
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        yield opened


def split(terminal: Terminal, count: int, *words: str, out: str = "shards") -> None:
    for index in range(1, count + 1):
        said = terminal.tjb("run", *SUITE, *PAIR, *words, "--shard", f"{index}/{count}", "--out", f"{out}/{index}")
        assert said.code == 0, said.err


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(held) for name, held in value.items() if name not in TIMES}
    return [timeless(held) for held in value] if isinstance(value, list) else value


def only(directory: Path) -> dict[str, Any]:
    (path,) = directory.glob("tjbench_*.json")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def transcript(directory: Path) -> list[Any]:
    (path,) = directory.glob("*.transcripts.jsonl.gz")
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("count", [1, 2, 4, TASKS, TASKS + 2])
def test_shards_merge_into_the_artifact_of_the_unsplit_run_field_by_field(terminal: Terminal, count: int) -> None:
    words = ("--mock", "--seed", "5", "--samples", "2", "--benchmark", "samples", "--limit", "33")
    terminal.tjb("run", *SUITE, *PAIR, *words, "--out", "whole")
    split(terminal, count, *words)
    said = terminal.tjb("merge", "shards", "--out", "merged")
    assert said.code == 0, said.err
    whole, merged = only(terminal.root / "whole"), only(terminal.root / "merged")
    assert timeless(merged) == timeless(whole)
    assert whole["n_tasks"] > 30
    assert 0 < whole["candidate_pass"] < whole["n_tasks"]


def test_live_answers_costs_and_transcripts_merge_too(terminal: Terminal, models: Models) -> None:
    models.refused = {4}
    terminal.tjb("run", *SUITE, *PAIR, "--no-cache", "--out", "whole")
    split(terminal, 3, "--no-cache")
    said = terminal.tjb("merge", "shards/1", "shards/2", "shards/3", "--out", "merged", "--json")
    whole, merged = only(terminal.root / "whole"), only(terminal.root / "merged")
    assert timeless(merged) == timeless(whole)
    assert (merged["n_unscored"], merged["candidate_pass"]) == (1, TASKS - len(range(0, TASKS, 3)) - 1)
    document = json.loads(said.out)
    assert document["spent_usd"] == pytest.approx(whole["original_cost_usd"] + whole["candidate_cost_usd"])
    told, expected = transcript(terminal.root / "merged"), transcript(terminal.root / "whole")
    assert [(line["model"], line["attempt"]["task_id"], line["score"]) for line in told] == [
        (line["model"], line["attempt"]["task_id"], line["score"]) for line in expected
    ]
    assert terminal.tjb("report", "--verify", document["artifacts"][0]["path"]).code == 0


def test_a_shard_asks_its_own_tasks_only_and_a_share_above_the_tolerance_is_judged_with_the_whole(
    terminal: Terminal, models: Models
) -> None:
    models.refused = {2}
    said = terminal.tjb("run", *SUITE, *PAIR, "--shard", "3/10", "--limit", "25", "--out", "shards", "--json")
    document = json.loads(said.out)
    assert [task["task_id"] for task in document["tasks"]] == ["sum-2", "sum-12", "sum-22"]
    assert (document["shard"]["index"], document["shard"]["count"], document["shard"]["n_tasks"]) == (3, 10, 25)
    assert document["n_unscored"] == 1  # a third of the shard, a twenty-fifth of the whole
    assert said.code == 0


def test_without_shards_nothing_of_the_kind_is_said(terminal: Terminal) -> None:
    terminal.tjb("run", *SUITE, *PAIR, "--limit", "2")
    assert only(terminal.root / "results")["shard"] is None


def test_a_missing_shard_is_incomplete_and_named(terminal: Terminal) -> None:
    split(terminal, 3)
    said = terminal.tjb("merge", "shards/1", "shards/3", "--out", "merged")
    assert said.code == 3
    assert "shard 2 of 3 is missing" in said.err
    assert not (terminal.root / "merged").exists()
    (terminal.root / "empty").mkdir()
    said = terminal.tjb("merge", "empty", "--out", "merged")
    assert (said.code, "there is no shard in empty" in said.err) == (3, True)


def test_the_same_shard_twice_is_refused_and_one_file_named_twice_is_not(terminal: Terminal) -> None:
    split(terminal, 2)
    assert terminal.tjb("merge", "shards", "shards/1", "--out", "merged").code == 0
    terminal.tjb("run", *SUITE, *PAIR, "--shard", "1/2", "--out", "shards/again")
    said = terminal.tjb("merge", "shards", "--out", "other")
    assert (said.code, "shard 1 of 2 of sums.jsonl once more" in said.err) == (2, True)


CHANGES: dict[str, Any] = {
    "commit": "d" * 40,
    "tokenjam_version": "0.0.1",
    "scorer_version": "0",
    "seed": 77,
    "mock": True,
    "sampling.temperature": 0.5,
    "sampling.max_tokens": 7,
    "rates.openai:big.input": 99.0,
    "suite.n_available": 99,
    "shard.count": 3,
    "shard.prompts_revision": "another",
    "shard.n_tasks": 40,
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_shard_of_another_run_is_refused_by_name(terminal: Terminal, field: str) -> None:
    split(terminal, 2)
    (path,) = (terminal.root / "shards/2").glob("tjbench_*.json")
    document = json.loads(path.read_text())
    *way, last = field.split(".")
    place = document
    for step in way:
        place = place[step]
    assert place[last] != CHANGES[field]
    place[last] = CHANGES[field]
    if field.startswith("rates"):  # dollars that follow from it, so that the file is an artifact
        document["original_cost_usd"] = document["cost_delta_pct"] = None
        tokens = [task["original"]["usage"] for task in document["tasks"]]
        cost = (99 * sum(t["input"] for t in tokens) + 30 * sum(t["output"] for t in tokens)) / 1e6
        document["original_cost_usd"] = cost
        document["cost_delta_pct"] = 100 * (document["candidate_cost_usd"] / cost - 1)
    path.write_text(json.dumps(document))
    said = terminal.tjb("merge", "shards", "--out", "merged")
    assert said.code == 2, said.err
    assert path.name in said.err
    assert "not of one run" in said.err
    assert not (terminal.root / "merged").exists()


def test_tasks_that_are_not_the_wholes_are_refused(terminal: Terminal) -> None:
    split(terminal, 2)
    for path in (terminal.root / "shards").rglob("tjbench_*.json"):
        document = json.loads(path.read_text())
        for task in document["tasks"]:
            task["check_hash"] = "another"
        path.write_text(json.dumps(document))
    said = terminal.tjb("merge", "shards", "--out", "merged")
    assert (said.code, "do not make the whole" in said.err) == (2, True)


def test_no_command_takes_a_shard_for_a_measurement(terminal: Terminal) -> None:
    split(terminal, 2)
    terminal.tjb("run", *SUITE, *PAIR, "--out", "whole")
    never = ("--fail-on", "incomplete")  # the models' own difference is not what is asked
    said = terminal.tjb("gate", "--baseline", "shards/1", "--head", "whole", *never)
    assert (said.code, "a shard: merge it first" in said.out) == (3, True)
    said = terminal.tjb("gate", "--baseline", "whole", "--head", "shards/1")
    assert (said.code, "a shard: merge it first" in said.out) == (3, True)
    assert "a shard: merge it first" in terminal.tjb("matrix", "--dir", "shards/2").out
    (path,) = (terminal.root / "shards/1").glob("tjbench_*.json")
    said = terminal.tjb("plan", "--artifact", str(path))
    assert (said.code, "a shard: merge it first" in said.err) == (2, True)
    assert load_path(terminal.root / "shards/1").artifacts == {}


def test_whole_measurements_beside_shards_are_left_out_and_named_ones_refused(terminal: Terminal) -> None:
    split(terminal, 2, out="results")
    terminal.tjb("run", *SUITE, *PAIR, "--out", "results")
    said = terminal.tjb("merge", "results", "--out", "results")
    assert (said.code, "whole measurement" in said.err) == (0, True)
    path = next((terminal.root / "results").glob("tjbench_*.json"))
    assert terminal.tjb("merge", str(path), "--out", "merged").code == 2
    assert terminal.tjb("merge", "nowhere", "--out", "merged").code == 2


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", "1/4/2", "1/5000", ""])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no part of a run"):
        Shard.parse(text)


def test_shards_share_out_every_task_once() -> None:
    whole = list(range(23))
    for count in (1, 2, 7, 23, 30):
        parts = [replace(Shard.parse(f"1/{count}"), index=index).of(whole) for index in range(1, count + 1)]
        assert sorted(task for part in parts for task in part) == whole
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_ci_measures_shards_and_judges_them_as_it_judges_the_whole(terminal: Terminal, models: Models) -> None:
    (terminal.root / "tjbench.toml").write_text('[[proof]]\nsuite = "sums.jsonl"\noriginal = "openai:big"\n')
    whole = json.loads(terminal.tjb("ci", "--baseline", "none", "--no-cache", "--out", "whole", "--json").out)
    for index in (1, 2):
        said = terminal.tjb("ci", "--shard", f"{index}/2", "--no-cache", "--out", "shards", "--json")
        assert (said.code, len(json.loads(said.out)["artifacts"])) == (0, 1)
    said = terminal.tjb("ci", "--baseline", "none", "--merge", "shards", "--out", "merged", "--json")
    merged = json.loads(said.out)
    assert (merged["rows"], said.code) == (whole["rows"], whole["exit_code"])
    assert merged["cost_usd"] == pytest.approx(whole["cost_usd"])
    said = terminal.tjb("ci", "--baseline", "none", "--merge", "shards", "--out", "again", "--margin-pp", "3")
    assert (said.code, "margin_pp 10.0, here 3.0" in said.out) == (3, True)
