"""Two versions of TokenJam held against each other: scripted ones, and real ones by the truth tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.artifacts import measurement
from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.shared import shared
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import BIG, PRICES, SMALL, make_checkout, make_tokenjam
from tjbench.compare.artifact import ReplayRecord, derive
from tjbench.compare.map_diff import prices_changed, recommendations_changed
from tjbench.compare.pair import Rule
from tjbench.config import ModelSpec
from tjbench.pricing import Rates
from tjbench.store.artifacts import load_path, write_artifact
from tjbench.versions import open_versions

AT = datetime(2026, 11, 29, tzinfo=UTC)
TINY = ModelSpec("openai", "tiny")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """A terminal with tokenjam 9.1.0, and 9.0.0 and 9.2.0 kept from before, so that no index is needed."""
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        kept = tmp_path / "cache" / "tjbench" / f"tokenjam-py{sys.version_info.major}{sys.version_info.minor}"
        dearer = {**PRICES, SMALL: (2.0, 6.0), TINY: (0.5, 1.0)}
        make_tokenjam(kept / "9.0.0", version="9.0.0", prices=dearer)
        make_tokenjam(kept / "9.2.0", version="9.2.0", recommended={BIG: TINY}, prices=dearer)
        make_tokenjam(kept / "9.3.0", version="9.3.0", recommended={})
        yield opened


def check(terminal: Terminal, *words: str) -> dict[str, Any]:
    said = terminal.tjb("upgrade-check", "--json", *words)
    document: dict[str, Any] = json.loads(said.out)
    assert document["exit_code"] == said.code
    return document


def store(terminal: Terminal, **how: Any) -> None:
    models = (str(BIG), str(SMALL))
    write_artifact(
        measurement("pp", "pf", models=models, version="9.0.0", prices=(10.0, 2.0), **how), terminal.root / "results"
    )


def test_a_changed_price_is_named_and_recorded_tokens_are_repriced_without_a_call(terminal: Terminal) -> None:
    store(terminal)
    found = check(terminal, "--to", "installed")
    assert (found["from"], found["to"], found["provider_calls"], found["needs_run"]) == ("9.0.0", "9.1.0", 0, [])
    changed = {(c["model"], c["field"]): (c["from"], c["to"], c["effective"]) for c in found["rates"]["changed"]}
    assert changed == {
        ("small", "input"): (2.0, 1.0, None),
        ("small", "output"): (6.0, 3.0, None),
    }
    (row,) = found["repriced"]
    # two tasks of 100 input tokens each, with 50 output tokens on the original and 100 on the candidate
    assert row["from"]["original_cost_usd"] == pytest.approx((200 * 10 + 100 * 30) / 1e6)
    assert row["from"]["candidate_cost_usd"] == pytest.approx((200 * 2 + 200 * 6) / 1e6)
    assert row["to"]["candidate_cost_usd"] == pytest.approx((200 * 1 + 200 * 3) / 1e6)
    assert row["to"]["cost_delta_pct"] == pytest.approx(100 * (800 / 5000 - 1))


def test_a_replay_without_a_control_is_no_row_and_is_not_repriced(terminal: Terminal) -> None:
    made = measurement("pp", "pf", models=(str(BIG), str(SMALL)), version="9.0.0")
    tasks = tuple(
        task.model_copy(update={"original": replace(task.original, stated_cost_usd=0.01)}) for task in made.tasks
    )
    replay = made.model_copy(update={"replay": ReplayRecord(control=False, judged_by="overlap"), "tasks": tasks})
    rule = Rule(margin=made.margin_pp / 100, alpha=made.alpha)
    numbers = derive(tasks, made.rates, str(BIG), str(SMALL), rule, uncontrolled=True)
    write_artifact(replay.model_copy(update=numbers), terminal.root / "results")
    found = check(terminal, "--from", "9.0.0", "--to", "9.2.0")
    assert found["needs_run"] == []
    assert [(row["from"], row["why"]) for row in found["repriced"]] == [
        (None, "a replay without --control compares no dollars of one day")
    ]


def test_only_a_pair_whose_recommendation_changed_needs_a_run(terminal: Terminal) -> None:
    store(terminal)
    found = check(terminal, "--to", "9.2.0")
    assert found["recommendations"]["changed"][0]["original"] == str(BIG)
    assert [(r["suite"], r["original"], r["candidate"], r["was"]) for r in found["needs_run"]] == [
        ("humaneval", str(BIG), str(TINY), str(SMALL))
    ]
    assert found["provider_calls"] == 0
    assert check(terminal, "--to", "9.2.0", "--fail-on", "recommendation")["exit_code"] == 1


def test_a_withdrawn_recommendation_needs_no_run_and_is_said(terminal: Terminal) -> None:
    store(terminal)
    found = check(terminal, "--to", "9.3.0")
    assert (found["needs_run"], found["withdrawn"]) == ([], [{"suite": "humaneval", "original": str(BIG)}])
    assert "removed: openai:big → openai:small" in terminal.tjb("upgrade-check", "--to", "9.3.0").out


def test_run_measures_exactly_the_pairs_that_changed(terminal: Terminal) -> None:
    store(terminal, suite="samples")
    found = check(terminal, "--to", "9.2.0", "--run", "--mock", "--out", "measured")
    assert found["provider_calls"] == 0  # scripted models
    (written,) = (terminal.root / "measured").glob("tjbench_*.json")
    artifact = json.loads(written.read_text())
    assert (artifact["original_model"], artifact["candidate_model"]) == (str(BIG), str(TINY))
    assert artifact["tokenjam_version"] == "9.2.0"


def test_calls_are_those_that_the_provider_counted_and_kept_answers_are_none(terminal: Terminal) -> None:
    store(terminal, suite="samples")
    with FakeProvider(lambda ask: Reply(text="no")) as provider:
        terminal.environ["OPENAI_BASE_URL"] = provider.openai_url
        assert check(terminal, "--to", "9.2.0")["provider_calls"] == provider.counts()["total"] == 0
        found = check(terminal, "--to", "9.2.0", "--run", "--out", "measured")
        (made,) = load_path(terminal.root / "measured").artifacts.values()
        assert provider.counts()["by_model"] == {"big": made.n_tasks, "tiny": made.n_tasks}
        assert found["provider_calls"] == provider.counts()["total"]
        assert check(terminal, "--to", "9.2.0", "--run", "--out", "again")["provider_calls"] == 0
        assert provider.counts()["total"] == found["provider_calls"]


def test_a_call_that_is_repeated_and_one_of_a_judge_count_too(terminal: Terminal) -> None:
    suite = terminal.root / "judged.jsonl"
    suite.write_text(json.dumps({"id": "a", "prompt": "Greet.", "check": {"judged": {"criteria": "It greets."}}}))
    (terminal.root / "tjbench.toml").write_text(
        '[[proof]]\nsuite = "judged.jsonl"\noriginal = "openai:big"\n[judge]\nmodel = "openai:judge"\n'
    )

    def answer(ask: Ask) -> Reply:
        if ask.number == 1:
            return Reply(status=500, headers={"retry-after": "0"})
        return Reply(text='{"score": 9, "reason": "it does"}' if ask.model == "judge" else f"Hello, I am {ask.model}.")

    with FakeProvider(answer) as provider:
        terminal.environ["OPENAI_BASE_URL"] = provider.openai_url
        found = check(terminal, "--from", "9.0.0", "--to", "9.2.0", "--run")
        assert provider.counts()["total"] == found["provider_calls"] == 5  # one again, and a verdict on each answer


def test_two_checkouts_are_held_against_each_other(terminal: Terminal) -> None:
    make_checkout(terminal.root / "old", version="1.0.dev1")
    make_checkout(terminal.root / "new", version="1.0.dev2", recommended={BIG: TINY})
    found = check(terminal, "--from", "path:old", "--to", "path:new")
    assert (found["from"], found["to"], found["provider_calls"]) == ("1.0.dev1", "1.0.dev2", 0)
    (changed,) = found["recommendations"]["changed"]
    assert (changed["original"], changed["from"], changed["to"]) == (str(BIG), str(SMALL), str(TINY))
    assert changed["priced"] is False  # this tokenjam recommends what it has no price for
    assert terminal.tjb("upgrade-check", "--to", "path:../tokenjam").code == 2


def test_an_unreachable_index_is_exit_3_and_a_missing_directory_exit_2(terminal: Terminal) -> None:
    terminal.environ.update(PIP_INDEX_URL="http://127.0.0.1:9/simple", UV_HTTP_RETRIES="0")
    assert terminal.tjb("upgrade-check", "--from", "9.0.0").code == 3
    assert terminal.tjb("upgrade-check", "--to", "9.2.0", "--results", "nowhere").code == 2
    assert "--to 'newest' is not a version" in terminal.tjb("upgrade-check", "--to", "newest").err


# The recorded tables: every two versions.


def tables() -> tuple[dict[str, Any], dict[str, Any]]:
    maps = json.loads(shared("tokenjam/candidates_by_version.json").read_text())["versions"]
    rates = json.loads(shared("tokenjam/rates_by_version.json").read_text())["versions"]
    return maps, rates


def recorded_map(entry: Mapping[str, Any]) -> dict[str, str | None]:
    return {f"{p}:{m}": f"{p}:{t}" for p, models in (entry["candidates"] or {}).items() for m, t in models.items()}


def recorded_rates(entry: Mapping[str, Any], key: str) -> dict[str, Rates | None]:
    found: dict[str, Rates | None] = {}
    for name, row in entry["rates"].items():
        price = row.get(key) or row["default"]
        found[name.replace("/", ":", 1)] = price and Rates(
            input=price["input_per_mtok"],
            output=price["output_per_mtok"],
            cache_read=price["cache_read_per_mtok"],
            cache_write=price["cache_write_per_mtok"],
            source="packaged",
            at=AT,
        )
    return found


def test_the_difference_of_any_two_recorded_versions_is_their_tables() -> None:
    maps, rates = tables()
    for old, new in combinations(maps, 2):
        before, after = recorded_map(maps[old]), recorded_map(maps[new])
        changed = recommendations_changed(before, after)
        assert {c.original: (c.before, c.after) for c in changed} == {
            model: (before.get(model), after.get(model))
            for model in before.keys() | after.keys()
            if before.get(model) != after.get(model)
        }
        was, now = (recorded_rates(rates[version], "default") for version in (old, new))
        found = prices_changed(
            {model: ((None, price),) if price else () for model, price in was.items()},
            {model: ((None, price),) if price else () for model, price in now.items()},
        )
        expected = {
            (model, field): (getattr(was[model], field, None), getattr(now[model], field, None))
            for model in was.keys() & now.keys()
            for field in ("input", "output", "cache_read", "cache_write")
            if getattr(was[model], field, None) != getattr(now[model], field, None)
        }
        assert {(c.model, c.field): (c.before, c.after) for c in found} == expected


def test_a_price_with_a_date_is_said_for_each_span_of_time() -> None:
    september = datetime(2026, 9, 1, tzinfo=UTC)
    early = Rates(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5, source="packaged", at=AT)
    late = replace(early, input=3.0)
    (change,) = prices_changed({"p:m": ((None, early),)}, {"p:m": ((None, early), (september, late))})
    assert (change.field, change.before, change.after, change.effective) == ("input", 2.0, 3.0, september)
    inputs = [c for c in prices_changed({}, {"p:m": ((None, early), (september, late))}) if c.field == "input"]
    assert [(c.before, c.after, c.effective) for c in inputs] == [(None, 2.0, None), (None, 3.0, september)]


# Real versions from the package index.


@pytest.mark.index
@pytest.mark.parametrize("version", ["0.4.2", "0.5.2", "0.5.5", "0.6.2", "0.6.12", "0.7.0"])
def test_a_real_version_answers_as_the_truth_table_says(version: str, tmp_path: Path) -> None:
    maps, rates = tables()
    table = maps[version]
    probes = {ModelSpec(*name.split("|", 1)): target for name, target in table["lookup_results"].items()}
    priced = {ModelSpec(*name.split("/", 1)): rows["default"] for name, rows in rates[version]["rates"].items()}
    with ExitStack() as scratch:
        versions = open_versions({**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}, tmp_path / "work", scratch)
        found = versions.open(version).everything([*probes, *priced], at=AT)
    assert found.version == version
    assert {s: c.model if (c := found.candidates[s]) else None for s in probes} == probes
    assert len(probes) == 40
    assert {str(s): str(found.candidates[s]) for s in found.mapped} == recorded_map(table)
    for spec, row in priced.items():
        ours = found.rates[spec]
        if row is None:
            assert ours.source == "default", spec
        else:
            assert (ours.input, ours.output, ours.cache_read, ours.cache_write) == (
                row["input_per_mtok"],
                row["output_per_mtok"],
                row["cache_read_per_mtok"],
                row["cache_write_per_mtok"],
            ), spec
