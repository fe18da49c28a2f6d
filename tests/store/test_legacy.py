"""Artifacts of the older format: what they hold carries over, what they lack is marked, the verdict is ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import Artifact, Flag
from tjbench.compare.matrix import Standing, build_row
from tjbench.compare.pair import Rule
from tjbench.compare.series import build_series
from tjbench.compare.stats import Verdict
from tjbench.errors import UsageError
from tjbench.store.artifacts import dump, load_path, parse_artifact

SHARED = Path(os.environ.get("TJBENCH_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
REAL = SHARED / "legacy-artifacts"
real_files = pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not there")

NO, YES, UNCLEAR = (
    Verdict.NO_SIGNIFICANT_REGRESSION,
    Verdict.SIGNIFICANT_REGRESSION,
    Verdict.INSUFFICIENT_EVIDENCE,
)


def old(original: str, candidate: str, **changes: object) -> dict[str, Any]:
    """A file as the older tool wrote it, cut down to what is read: ``1`` passed and ``0`` failed."""
    tasks = [
        {
            "task_id": f"gsm8k/{i}",
            "samples": 1,
            "original_passes": int(before),
            "candidate_passes": int(after),
            "original_output_tokens": 10,
            "candidate_output_tokens": 30,
            "original_detail": "matched 18",
            "candidate_detail": "matched 18" if after == "1" else "expected 18, got 17",
        }
        for i, (before, after) in enumerate(zip(original, candidate, strict=True))
    ]
    return {
        "tokenjam_version": "0.5.2",
        "benchmark": "gsm8k",
        "original_model": "openai:gpt-4o",
        "candidate_model": "openai:gpt-4o-mini",
        "recommended_by": "explicit --candidate override",
        "n_tasks": len(tasks),
        "original_cost_usd": 0.5,
        "candidate_cost_usd": 0.1,
        "mock": False,
        "priced_with_defaults": False,
        "created_at": 1782503878.216799,
        "cost_delta_pct": -80.0,
        "tasks": tasks,
        **changes,
    }


def read(data: object) -> Artifact:
    return parse_artifact(json.dumps(data).encode(), "old.json")


def why_not(data: object) -> str:
    with pytest.raises(UsageError, match=r"old\.json is not an artifact") as caught:
        read(data)
    return caught.value.why


def test_outcomes_tokens_and_costs_carry_over() -> None:
    artifact = read(old("1110", "1011"))
    assert (artifact.original_pass, artifact.candidate_pass) == (3, 3)
    assert (artifact.stats.mcnemar_b, artifact.stats.mcnemar_c) == (1, 1)
    assert (artifact.original_cost_usd, artifact.candidate_cost_usd, artifact.cost_delta_pct) == (0.5, 0.1, -80.0)
    assert artifact.output_token_inflation == 3
    assert f"{artifact.created_at:%Y-%m-%d %H:%M:%S %Z}" == "2026-06-26 19:57:58 UTC"
    assert artifact.tasks[1].candidate.detail == "expected 18, got 17"


def test_dollars_a_task_carry_over_where_the_file_has_them() -> None:
    data = old("1110", "1011")
    for task in data["tasks"]:
        task |= {"original_cost_usd": 0.125, "candidate_cost_usd": 0.025}
    artifact = read(data)
    assert [task.original.stated_cost_usd for task in artifact.tasks] == [0.125] * 4
    assert (artifact.costs_stated, artifact.costs_known) == (True, True)
    bare = read(old("1", "1"))
    assert (bare.costs_stated, bare.costs_known) == (False, True)


def test_what_it_lacks_is_marked() -> None:
    artifact = read(old("1", "0"))
    assert {rates.source for rates in artifact.rates.values()} == {"unknown"}
    assert {task.check_hash for task in artifact.tasks} == {task.prompt_hash for task in artifact.tasks} == {"unknown"}
    assert artifact.tasks[0].candidate.cause == "unknown"
    assert artifact.tasks[0].original.cause is None
    assert (artifact.scorer_version, artifact.sandbox_level) == ("tokenjam-bench/0.1", "unknown")
    assert artifact.claimed_saving_pct is None


def test_the_slot_is_what_was_asked_for() -> None:
    assert read(old("1", "1")).slot == "openai:gpt-4o-mini"
    assert read(old("1", "1", recommended_by="tokenjam 0.5.2 candidates")).slot == "recommended"


def test_flags_tell_of_mock_runs_and_guessed_prices() -> None:
    assert read(old("1", "1")).flags == ()
    assert read(old("1", "1", mock=True, priced_with_defaults=True)).flags == (Flag.MOCK, Flag.DEFAULT_RATES)


def test_the_verdict_is_computed_anew() -> None:
    # The older tool said no_significant_regression whenever its test did not reject.
    assert read(old("1" * 12, "1" * 12, verdict="no_significant_regression")).verdict is UNCLEAR
    assert read(old("1" * 60, "1" * 60)).verdict is NO


def test_it_can_be_written_as_ours() -> None:
    artifact = read(old("1110", "1011"))
    assert parse_artifact(dump(artifact).encode(), "new.json") == artifact


def test_it_compares_with_its_like_and_not_with_ours() -> None:
    before, after = read(old("1" * 30, "1" * 30)), read(old("1" * 30, "0" * 9 + "1" * 21, tokenjam_version="0.6.0"))
    row = build_row(after.key, after, before, Rule())
    assert row.change is not None
    assert (row.change.b, row.change.c, row.change.n) == (9, 0, 30)
    ours = measurement("p" * 30, "p" * 30, suite="gsm8k")
    mixed = build_row(ours.key, ours, before, Rule())
    assert mixed.standing is Standing.NOT_COMPARABLE
    assert "scorer version differs: tokenjam-bench/0.1 → 1" in mixed.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"created_at": "yesterday"}, "ValueError: could not convert string"),
        ({"created_at": 1e300}, "OverflowError"),
        ({"created_at": 10**400}, "OverflowError"),
        ({"created_at": 1e12}, "ValueError: year"),
        ({"n_tasks": 164}, "ValueError: n_tasks is 164, the file holds 3"),
        ({"original_model": "gpt-4o"}, "original_model: 'gpt-4o' is not a model"),
        ({"original_cost_usd": float("nan")}, "original_cost_usd: "),
        ({"tasks": None}, "TypeError"),
        ({"tasks": [1, 2, 3]}, "TypeError"),
        ({"tasks": []}, "ValueError: tasks hold different numbers of samples"),
        ({"mock": None, "candidate_cost_usd": "free"}, "ValueError"),
    ],
)
def test_what_is_broken_is_named(change: dict[str, object], why: str) -> None:
    assert why_not(old("111", "111", **change)).startswith(why)


@pytest.mark.parametrize("name", ["created_at", "original_model", "tasks", "mock", "cost_delta_pct", "recommended_by"])
def test_what_is_missing_is_named(name: str) -> None:
    data = old("1", "1")
    del data[name]
    assert why_not(data) == f"it lacks {name!r}"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("candidate_passes", 2, "2 passes and 0 unscored of 1 samples"),
        ("original_passes", -1, "-1 passes and 0 unscored of 1 samples"),
        ("samples", 2, "tasks hold different numbers of samples"),
        ("original_output_tokens", -5, "no usage or latency is like this"),
        ("original_output_tokens", float("inf"), "OverflowError"),
        ("task_id", "gsm8k/1", "task id 'gsm8k/1' stands in it twice"),
    ],
)
def test_a_broken_task_is_named(name: str, value: object, why: str) -> None:
    data = old("111", "111")
    data["tasks"][0][name] = value
    assert why in why_not(data)


@real_files
@pytest.mark.parametrize(
    ("name", "models", "b", "c", "n", "verdict"),
    [
        ("humaneval_tj0.5.2_1782504077", ("opus-4-7", "haiku-4-5"), 17, 0, 50, YES),
        ("gsm8k_tj0.5.2_1782503878", ("opus-4-7", "haiku-4-5"), 1, 0, 50, NO),
        ("gsm8k_tj0.5.2_1782504203", ("gpt-4o", "gpt-4o-mini"), 1, 0, 50, NO),
        # Printed as no_significant_regression by the older tool: a drop up to 13.4 pp is possible here.
        ("humaneval_tj0.5.2_1782505333", ("o3", "o4-mini"), 4, 2, 50, UNCLEAR),
        # Likewise: seven recovered of twelve tasks, which are fewer than the 29 that rule out a drop of 10 pp.
        ("enterprise-rag_tj0.5.2_1782506164", ("opus-4-7", "haiku-4-5"), 0, 7, 12, UNCLEAR),
        ("judged_tj0.5.2_1782506545", ("gpt-4o", "gpt-4o-mini"), 0, 1, 5, UNCLEAR),
    ],
)
def test_a_real_file_loads_with_our_verdict(
    name: str, models: tuple[str, str], b: int, c: int, n: int, verdict: Verdict
) -> None:
    path = REAL / f"tjbench_{name}.json"
    (artifact,) = load_path(path).artifacts.values()
    said = json.loads(path.read_bytes())
    assert (artifact.stats.mcnemar_b, artifact.stats.mcnemar_c, artifact.n_scored) == (b, c, n)
    assert artifact.original_model.endswith(models[0])
    assert artifact.candidate_model.endswith(models[1])
    assert artifact.verdict is verdict
    assert (artifact.original_pass, artifact.candidate_pass) == (said["original_pass"], said["candidate_pass"])
    assert artifact.accuracy_delta_pp == pytest.approx(said["accuracy_delta_pp"], abs=0.005)
    assert artifact.output_token_inflation == pytest.approx(said["output_token_inflation"], abs=5e-4)
    for ours, theirs in (
        (artifact.stats.original_ci_pp, said["stats"]["original_ci_pp"]),
        (artifact.stats.candidate_ci_pp, said["stats"]["candidate_ci_pp"]),
        (artifact.stats.delta_ci_pp, said["stats"]["delta_ci_pp"]),
    ):
        assert ours == pytest.approx(theirs, abs=0.006)


@real_files
def test_the_real_directory_loads_whole_and_every_row_is_a_series_of_one() -> None:
    loaded = load_path(REAL)
    assert (len(loaded.artifacts), loaded.rejected) == (6, {})
    series = build_series(list(loaded.artifacts.values()), Rule())
    assert len(series.rows) == 6
    assert {row.standing for row in series.rows} == {Standing.NO_BASELINE}
