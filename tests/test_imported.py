"""Results of other tools, from their files to artifacts and through the same gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.foreign import (
    MODELS,
    csv_text,
    deepeval,
    inspect_eval,
    inspect_header,
    inspect_json,
    inspect_sample,
    lm_eval,
    promptfoo,
    write,
)
from tests.fakes.terminal import Said, Terminal, open_terminal
from tjbench.compare.artifact import Artifact, Flag
from tjbench.store.artifacts import load_path
from tjbench.verify import verify

BOTH = ("--original", "openai:big", "--candidate", "openai:small")
GOOD, WORSE = "p" * 30, "f" * 8 + "p" * 22


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def files_of(tool: str, root: Path, original: str, candidate: str) -> list[str]:
    """What ``tool`` leaves of two models, under ``root``."""
    marks = dict(zip(MODELS, (original, candidate), strict=True))
    match tool:
        case "csv":
            paths = [write(root / "r.csv", csv_text(marks))]
        case "promptfoo":
            paths = [write(root / "results.json", promptfoo(marks))]
        case "inspect":
            small = [inspect_sample(i, mark, "openai/small") for i, mark in enumerate(candidate)]
            paths = [
                write(root / "big.json", inspect_json(original)),
                inspect_eval(root / "small.eval", inspect_header("openai/small"), small),
            ]
        case "lm-eval":
            paths = [*lm_eval(root, original, model="big"), *lm_eval(root, candidate, model="small")]
        case _:
            paths = [write(root / f"{name[7:]}.json", deepeval(found, name)) for name, found in marks.items()]
    return [str(path) for path in paths]


def imported(terminal: Terminal, tool: str, *words: str, code: int = 0) -> Said:
    said = terminal.tjb("import", "--from", tool, *words, *BOTH)
    assert said.code == code, said.err
    return said


def only(directory: Path) -> Artifact:
    (artifact,) = load_path(directory).artifacts.values()
    return artifact


@pytest.mark.parametrize("tool", ["csv", "promptfoo", "inspect", "lm-eval", "deepeval"])
def test_results_of_every_tool_pass_through_the_same_gate(terminal: Terminal, tool: str) -> None:
    for name, candidate in (("before", GOOD), ("same", GOOD), ("worse", WORSE)):
        files = files_of(tool, terminal.root / f"{name}-files", GOOD, candidate)
        imported(terminal, tool, *files, "--suite", "sums", "--out", name)
    artifact = only(terminal.root / "worse")
    assert (artifact.original_pass, artifact.candidate_pass, artifact.stats.mcnemar_b) == (30, 22, 8)
    assert (artifact.suite.name, artifact.slot, artifact.scorer_version) == ("sums", "openai:small", f"import/{tool}")
    assert artifact.recommended_by.startswith(f"imported from {tool}")
    assert artifact.sandbox_level == "unknown"
    assert verify(artifact).mismatches == ()
    assert terminal.tjb("gate", "--baseline", "before", "--head", "same").code == 0
    worse = terminal.tjb("gate", "--baseline", "before", "--head", "worse", "--json")
    assert (worse.code, json.loads(worse.out)["status"]) == (1, "regression")


def test_dollars_are_those_of_the_file(terminal: Terminal) -> None:
    rows = [f"t{i},{model},1,{cost}" for i in range(30) for model, cost in zip(MODELS, ("0.02", "0.005"), strict=True)]
    write(terminal.root / "r.csv", "\n".join(["task_id,model,passed,cost_usd", *rows]))
    said = imported(terminal, "csv", "r.csv")
    artifact = only(terminal.root / "results")
    assert (artifact.original_cost_usd, artifact.candidate_cost_usd) == (0.6, 0.15)
    assert artifact.cost_delta_pct == -75
    # 3 in to 1 out: 60 USD against 6, by the rates that TokenJam has for both
    assert artifact.claimed_saving_pct == 90
    assert "note: csv: dollars are as the results state them" in said.err
    assert "Dollars: as stated by the tool that measured" in said.out
    assert "Not recorded where it was measured: prompts, checks, input tokens, output tokens." in said.out


def test_dollars_are_tokens_at_tokenjams_rates_where_the_file_states_none(terminal: Terminal) -> None:
    write(
        terminal.root / "r.csv",
        csv_text({"openai:big": GOOD, "openai:small": GOOD}, ",input_tokens,output_tokens", ",1000,200"),
    )
    said = imported(terminal, "csv", "r.csv")
    artifact = only(terminal.root / "results")
    # 30 tasks of 1,000 in and 200 out: at 10 and 30 USD per million, and at 1 and 3
    assert artifact.original_cost_usd == pytest.approx(30 * (1000 * 10 + 200 * 30) / 1e6)
    assert artifact.candidate_cost_usd == pytest.approx(30 * (1000 * 1 + 200 * 3) / 1e6)
    assert {rates.source for rates in artifact.rates.values()} == {"packaged"}
    assert artifact.flags == ()
    assert "dollars are tokens at TokenJam's rates" in said.err


def test_no_dollars_are_made_up(terminal: Terminal) -> None:
    write(terminal.root / "r.csv", csv_text({"openai:big": GOOD, "openai:small": GOOD}))
    said = imported(terminal, "csv", "r.csv")
    artifact = only(terminal.root / "results")
    assert (artifact.costs_known, artifact.cost_delta_pct, artifact.claimed_saving_pct) == (False, None, None)
    assert "no dollars" in said.err
    assert "$0" not in said.out
    gate = json.loads(terminal.tjb("gate", "--baseline", "results", "--head", "results", "--json").out)
    assert gate["rows"][0]["original_cost_usd"] is None


def test_placeholder_prices_are_flagged(terminal: Terminal) -> None:
    marks = {"acme:big": GOOD, "openai:small": GOOD}
    write(terminal.root / "r.csv", csv_text(marks, ",input_tokens,output_tokens", ",1000,200"))
    said = terminal.tjb("import", "--from", "csv", "r.csv", "--original", "acme:big", "--candidate", "openai:small")
    artifact = only(terminal.root / "results")
    assert (artifact.priced_with_defaults, artifact.flags) == (True, (Flag.DEFAULT_RATES,))
    assert artifact.claimed_saving_pct is None
    assert "the dollars are a guess" in said.err


def test_what_a_tool_says_of_its_run_is_kept(terminal: Terminal) -> None:
    files = files_of("inspect", terminal.root, GOOD, GOOD)
    said = imported(terminal, "inspect", *files)
    artifact = only(terminal.root / "results")
    assert f"{artifact.created_at:%Y-%m-%dT%H:%M:%SZ}" == "2026-03-04T05:06:07Z"
    assert (artifact.sampling.temperature, artifact.sampling.max_tokens) == (0.5, 77)
    assert artifact.recommended_by == "imported from inspect 0.3.285"
    assert artifact.suite.name == "sums"
    assert "unknown" not in {artifact.suite.prompts_revision, artifact.suite.checks_revision}
    assert "note: sums: score match decides; others: includes" in said.err


def test_a_judge_is_named_and_flagged(terminal: Terminal) -> None:
    imported(terminal, "deepeval", *files_of("deepeval", terminal.root, GOOD, GOOD))
    artifact = only(terminal.root / "results")
    assert (artifact.judge, artifact.flags) == ("gpt-4.1", (Flag.JUDGE_SCORED,))


def test_files_that_name_no_model_are_original_and_candidate_in_order(terminal: Terminal) -> None:
    write(terminal.root / "a.json", deepeval(GOOD, None))
    write(terminal.root / "b.json", deepeval(WORSE, None))
    said = imported(terminal, "deepeval", "a.json", "b.json")
    artifact = only(terminal.root / "results")
    assert (artifact.original_pass, artifact.candidate_pass, artifact.suite.name) == (30, 22, "deepeval")
    assert "a.json is taken for openai:big, b.json for openai:small" in said.err


def two_suites(root: Path) -> list[str]:
    paths = [
        path
        for task in ("sums", "words")
        for model in ("big", "small")
        for path in lm_eval(root, GOOD, model=model, task=task)
    ]
    for path in paths:  # one run asks several tasks: its results name them all
        if path.suffix == ".json":
            document = json.loads(path.read_text())
            document["configs"] = {"sums": {}, "words": {}}
            write(path, document)
    return [str(path) for path in dict.fromkeys(paths)]


def test_every_suite_becomes_an_artifact_and_one_can_be_picked(terminal: Terminal) -> None:
    files = two_suites(terminal.root)
    said = imported(terminal, "lm-eval", *files, "--json")
    document = json.loads(said.out)
    assert [artifact["suite"]["name"] for artifact in document["artifacts"]] == ["sums", "words"]
    assert all(Path(terminal.root / artifact["path"]).is_file() for artifact in document["artifacts"])
    picked = json.loads(imported(terminal, "lm-eval", *files, "--json", "--suite", "words").out)
    assert [artifact["suite"]["name"] for artifact in picked["artifacts"]] == ["words"]
    wrong = imported(terminal, "lm-eval", *files, "--suite", "gpqa", code=2)
    assert "the suites seen are sums, words" in wrong.err


def test_too_many_unjudged_tasks_are_incomplete(terminal: Terminal) -> None:
    write(terminal.root / "r.csv", csv_text({"openai:big": "p" * 28 + "uu", "openai:small": GOOD}))
    imported(terminal, "csv", "r.csv", code=3)
    assert only(terminal.root / "results").n_unscored == 2


def test_a_task_that_only_one_model_has_is_no_pass_and_no_fail(terminal: Terminal) -> None:
    write(terminal.root / "r.csv", csv_text({"openai:big": GOOD, "openai:small": GOOD[1:]}))
    said = imported(terminal, "csv", "r.csv")
    artifact = only(terminal.root / "results")
    assert (artifact.n_tasks, artifact.n_scored) == (30, 29)
    assert "1 sample of one model without the other's, taken as unscored" in said.err


def test_other_metrics_and_tools_are_not_compared(terminal: Terminal) -> None:
    files = files_of("inspect", terminal.root, GOOD, GOOD)
    imported(terminal, "inspect", *files, "--out", "before")
    imported(terminal, "inspect", *files, "--metric", "includes", "--out", "now")
    document = json.loads(terminal.tjb("gate", "--baseline", "before", "--head", "now", "--json").out)
    (row,) = document["rows"]
    assert row["vs_baseline"]["status"] == "not_comparable"
    write(terminal.root / "r.csv", csv_text({"openai:big": GOOD, "openai:small": GOOD}))
    imported(terminal, "csv", "r.csv", "--suite", "sums", "--out", "csv")
    document = json.loads(terminal.tjb("gate", "--baseline", "before", "--head", "csv", "--json").out)
    assert "scorer version differs: import/inspect → import/csv" in document["rows"][0]["vs_baseline"]["reason"]


def test_a_plan_and_a_report_are_made_of_it(terminal: Terminal) -> None:
    imported(terminal, "promptfoo", *files_of("promptfoo", terminal.root, GOOD, GOOD), "--json")
    plan = json.loads(terminal.tjb("plan", "--artifact", "results", "--json").out)["plans"][0]
    assert plan["task_cost"]["original_usd"] == pytest.approx(0.002)
    (path,) = (terminal.root / "results").glob("*.json")
    report = terminal.tjb("report", str(path), "--verify")
    assert (report.code, report.out.count("not recomputed: dollars a task: as stated")) == (0, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("csv", "r.csv", "--original", "openai:huge", "--candidate", "openai:small"), "openai:big, openai:small"),
        (("csv", "r.csv", "--original", "big", "--candidate", "openai:small"), "'big' is not a model"),
        (("csv", "r.csv", "--original", "openai:big", "--candidate", "x:big"), "both openai:big"),
        (("excel", "r.csv", *BOTH), "csv, promptfoo, inspect, lm-eval, deepeval"),
        (("csv", "absent.csv", *BOTH), "cannot read absent.csv"),
        (("csv", "empty.csv", *BOTH), "there are no results"),
        (("csv", "twice.csv", *BOTH), "twice.csv, line 3: task 't0' of openai:big was there before"),
        (("csv", "r.csv", "--metric", "f1", *BOTH), "--metric has no meaning with csv"),
        (("deepeval", "r.csv", "--threshold", "0.5", *BOTH), "--threshold has no meaning with deepeval"),
        (("inspect", "r.csv", *BOTH), "r.csv is not JSON"),
        (("csv", *BOTH), "FILE"),
        (("csv", "r.csv", "--original", "openai:big"), "--candidate"),
    ],
)
def test_a_mistake_is_one_clear_message_and_exit_2(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    write(terminal.root / "r.csv", csv_text({"openai:big": "p", "openai:small": "p"}))
    write(terminal.root / "empty.csv", "task_id,model,passed\n")
    write(terminal.root / "twice.csv", csv_text({"openai:big": "p"}) + "t0,openai:big,1\nt0,openai:small,1\n")
    got = terminal.tjb("import", "--from", *words)
    assert (got.code, got.out) == (2, "")
    assert said in got.err
    assert "Traceback" not in got.err
    assert not list(terminal.root.glob("results/*"))


def test_a_suite_of_one_model_alone_is_left_out_and_said(terminal: Terminal) -> None:
    files: list[Any] = [*two_suites(terminal.root)]
    kept = [name for name in files if not ("small" in name and "words" in name)]
    said = imported(terminal, "lm-eval", *kept)
    assert "words: left out, since only one of the models has results" in said.err
    assert only(terminal.root / "results").suite.name == "sums"
