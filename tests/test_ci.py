"""The gate over one measurement, and over what lies on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.fakes.artifacts import ORIGINAL, measurement
from tests.fakes.model import FakeModel, response
from tests.fakes.sums import add, sums
from tests.fakes.tokenjam import AT, BIG, SMALL, snapshot
from tjbench.ci import GateResult, gate_stored, run_gate, series_of, tokenjam_notes, unconcluded
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel, Reused, RowStatus, Status
from tjbench.config import Config, ModelSpec, config_of
from tjbench.errors import ExitCode, IncompleteError, UsageError
from tjbench.measure import MeasureRun
from tjbench.models.model import Model, ModelError, Request, Response, Trouble
from tjbench.row_plan import ModelOpener
from tjbench.rows import plan_rows
from tjbench.store.artifacts import Baseline, Loaded, load_path
from tjbench.store.shelf import Shelf
from tjbench.suites.task import Suite

TASKS = 30
PROOF: Mapping[str, object] = {"suite": "sums", "original": str(BIG)}
EMPTY = Loaded(artifacts={}, rejected={})
NONE = Baseline(label=BaselineLabel(), loaded=EMPTY)


def right(request: Request) -> Response:
    return response(add(request.messages[-1]["content"]))


def wrong(request: Request) -> Response:
    return response("#### -1")


def refuse(request: Request) -> Response:
    raise ModelError(Trouble.QUOTA, "openai:small: HTTP 402: no credits")


def measured(
    out: Path,
    baseline: Baseline,
    *,
    small: object = right,
    recommends: ModelSpec | None = SMALL,
    accept: date | None = None,
    reuse: str = "original",
    **gate: object,
) -> GateResult:
    accepts = [{"suite": "sums", "original": str(BIG), "until": accept, "reason": "known"}] if accept else []
    wanted = config_of({"proof": [PROOF], "gate": gate, "accept": accepts, "run": {"reuse": reuse}}, "--")
    found = snapshot(recommended={BIG: recommends}, overrides=("x.toml",), ignored=("y.toml",))

    def open_live(_: Config) -> ModelOpener:
        def opener(spec: ModelSpec, _: Suite) -> Model:
            return FakeModel(right if spec == BIG else small, spec)  # type: ignore[arg-type]

        return opener

    run = MeasureRun(
        config=wanted,
        snapshot=found,
        rows=plan_rows(wanted, found, lambda name, _: sums(TASKS, name=name)),
        open_live=open_live,
        mock=False,
        out=out,
        watch=lambda *_: None,
        warn=lambda _: None,
        commit=None,
    )
    return run_gate(run, baseline)


@pytest.fixture
def before(tmp_path: Path) -> Baseline:
    """What the same models measured before, all right."""
    measured(tmp_path / "before", NONE)
    return Baseline(label=BaselineLabel(ref="release/1.0", sha="a" * 40), loaded=load_path(tmp_path / "before"))


def test_a_first_measurement_has_nothing_to_be_held_against(tmp_path: Path) -> None:
    got = measured(tmp_path, NONE)
    assert (got.decision.status, got.decision.exit_code) == (Status.NO_BASELINE, ExitCode.PASSED)
    assert set(got.artifacts) == set(tmp_path.iterdir())


def test_unchanged_outcomes_pass_and_what_was_spent_is_said(tmp_path: Path, before: Baseline) -> None:
    decision = measured(tmp_path / "now", before).decision
    assert (decision.status, decision.exit_code, decision.baseline.ref) == (Status.PASS, ExitCode.PASSED, "release/1.0")
    # The original's outcomes are the baseline's; 10 tokens in and 5 out a call of the candidate, at 1 and 3 dollars
    assert decision.cost_usd == pytest.approx(TASKS * (10 + 15) / 1e6)
    assert decision.tokenjam_version == "9.1.0"


def test_without_reuse_both_models_are_asked(tmp_path: Path, before: Baseline) -> None:
    decision = measured(tmp_path / "now", before, reuse="never").decision
    # at 10 and 30 dollars a million, and at 1 and 3
    assert decision.cost_usd == pytest.approx(TASKS * (100 + 150 + 10 + 15) / 1e6)


def test_a_reused_row_costs_nothing_and_is_tested_against_nothing(tmp_path: Path, before: Baseline) -> None:
    found = measured(tmp_path / "now", before, small=wrong, reuse="all")
    (artifact,), (row,) = found.artifacts.values(), found.decision.rows
    assert (found.decision.status, found.decision.cost_usd) == (Status.PASS, 0)
    assert (row.vs_baseline.status, row.vs_baseline.p_value) == (RowStatus.NOT_RE_MEASURED, None)
    assert row.reused == Reused(original=TASKS, candidate=TASKS, age_days=0)
    assert found.decision.reasons == (
        "nothing was measured anew, so nothing got worse: every outcome is the baseline's, for $0",
    )
    assert artifact.candidate_cost_usd == pytest.approx(TASKS * (10 + 15) / 1e6)  # what it would cost
    (source,) = before.loaded.artifacts
    assert {t.candidate.reused_from.partition(", ")[0] for t in artifact.tasks if t.candidate.reused_from} == {
        f"artifact:{source}"
    }


def test_a_candidate_that_got_worse_fails(tmp_path: Path, before: Baseline) -> None:
    decision = measured(tmp_path / "now", before, small=wrong).decision
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert (decision.pooled.b, decision.pooled.c, decision.pooled.p) == (TASKS, 0, 2**-TASKS)


def flaky(*, again: int) -> object:
    """Wrong at its first ten tasks, and when one of them is asked again wrong at the first ``again`` of them only."""

    def answer(request: Request) -> Response:
        task = int(request.task_id.removeprefix("sum-"))
        return wrong(request) if task < (again if request.sample else 10) else right(request)

    return answer


def test_a_regression_is_confirmed_before_it_fails_and_its_cost_is_told(tmp_path: Path, before: Baseline) -> None:
    decision = measured(tmp_path / "now", before, small=flaky(again=9), confirm=True).decision
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.confirmation is not None
    # 2^-9 for nine broken and none recovered; ten calls of 10 tokens in and 5 out at 1 and 3 dollars a million
    assert decision.confirmation.sentence == "9 of 10 broken tasks broke again (p = 0.002), $0.00"
    assert decision.confirmation.cost_usd == pytest.approx(10 * (10 + 15) / 1e6)
    assert decision.cost_usd == pytest.approx((TASKS * (10 + 15) + 10 * (10 + 15)) / 1e6)
    assert decision.reasons[1] == "confirm: 9 of 10 broken tasks broke again (p = 0.002), $0.00"
    (row,) = decision.rows
    assert (row.vs_baseline.b, row.vs_baseline.c, row.candidate_pass) == (10, 0, TASKS - 10)
    assert [task.passes for task in decision.confirmation.tasks] == [0] * 9 + [1]


def test_a_regression_that_does_not_come_again_is_inconclusive(tmp_path: Path, before: Baseline) -> None:
    found = measured(tmp_path / "now", before, small=flaky(again=3), confirm=True)
    decision, (artifact,) = found.decision, found.artifacts.values()
    assert (decision.status, decision.exit_code) == (Status.INCONCLUSIVE, ExitCode.PASSED)
    assert decision.reasons == ("not confirmed: 3 of 10 broken tasks broke again (p = 0.125), $0.00",)
    (row,) = decision.rows
    assert row.vs_baseline.status is RowStatus.INSUFFICIENT_EVIDENCE
    assert (row.vs_baseline.b, artifact.candidate_pass) == (10, TASKS - 10)  # the first run's
    assert set((tmp_path / "now").iterdir()) == set(found.artifacts)
    strict = measured(tmp_path / "strict", before, small=flaky(again=3), confirm=True, fail_on="inconclusive").decision
    assert strict.exit_code is ExitCode.PASSED  # the regression would have failed nothing, so nothing was asked again
    fail_on = ["regression", "inconclusive"]
    strict = measured(tmp_path / "both", before, small=flaky(again=3), confirm=True, fail_on=fail_on).decision
    assert (strict.status, strict.exit_code) == (Status.INCONCLUSIVE, ExitCode.REGRESSION)


def test_a_verdict_without_a_baseline_is_confirmed_too(tmp_path: Path) -> None:
    first = measured(tmp_path / "a", NONE, small=flaky(again=10), confirm=True).decision
    assert (first.status, first.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    second = measured(tmp_path / "b", NONE, small=flaky(again=2), confirm=True).decision
    assert (second.status, second.exit_code) == (Status.INCONCLUSIVE, ExitCode.PASSED)
    assert "2 of 10 broken tasks broke again (p = 0.250)" in second.rows[0].vs_baseline.reason


def test_a_confirmation_that_gets_no_answer_leaves_the_job_red(tmp_path: Path, before: Baseline) -> None:
    def gone(request: Request) -> Response:
        return refuse(request) if request.sample else flaky(again=0)(request)  # type: ignore[operator]

    decision = measured(tmp_path / "now", before, small=gone, confirm=True).decision
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.confirmation is not None
    assert decision.confirmation.sentence.startswith(
        "10 of 10 broken tasks broke again (p < 0.001), 10 of them counted"
    )


def test_nothing_is_asked_again_where_nothing_would_fail(tmp_path: Path, before: Baseline) -> None:
    for more in ({}, {"accept": AT.date(), "small": wrong}):
        decision = measured(tmp_path / str(len(more)), before, confirm=True, **more).decision  # type: ignore[arg-type]
        assert decision.confirmation is None


def test_a_known_regression_fails_nothing_until_its_day_is_over(tmp_path: Path, before: Baseline) -> None:
    today = AT.date()
    decision = measured(tmp_path / "a", before, small=wrong, accept=today).decision
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.PASSED)
    assert decision.reasons[0].startswith(f"regression (accepted until {today}: known): sums, ")
    decision = measured(tmp_path / "b", before, small=wrong, accept=today - timedelta(days=1)).decision
    assert decision.exit_code is ExitCode.REGRESSION
    decision = measured(tmp_path / "c", before, accept=today).decision
    assert decision.status is Status.PASS
    assert any(note.endswith("not needed: this run shows no regression of it") for note in decision.notes)


def test_a_model_that_does_not_answer_is_incomplete_and_its_trouble_a_reason(tmp_path: Path, before: Baseline) -> None:
    decision = measured(tmp_path / "now", before, small=refuse).decision
    assert (decision.status, decision.exit_code) == (Status.INCOMPLETE, ExitCode.INCOMPLETE)
    assert any("HTTP 402: no credits" in reason for reason in decision.reasons)


def test_a_call_that_failed_once_is_a_note(tmp_path: Path, before: Baseline) -> None:
    def stumbles(request: Request) -> Response:
        if request.task_id == "sum-7":
            raise ModelError(Trouble.TIMEOUT, "openai:small: no answer in time")
        return right(request)

    decision = measured(tmp_path / "now", before, small=stumbles).decision
    assert decision.status is Status.PASS
    assert "openai:small: 1 call failed (timeout): openai:small: no answer in time (asked 2 times)" in decision.notes


@pytest.mark.parametrize("fail_on", ["regression", "never"])
def test_a_key_that_is_refused_is_a_configuration_error_whatever_fails(
    tmp_path: Path, before: Baseline, fail_on: str
) -> None:
    def unknown(request: Request) -> Response:
        raise ModelError(Trouble.AUTHENTICATION, "openai:small: HTTP 401")

    decision = measured(tmp_path / "now", before, small=unknown, fail_on=fail_on).decision
    assert (decision.status, decision.exit_code) == (Status.INCOMPLETE, ExitCode.USAGE)


def test_a_baseline_that_cannot_be_read_is_incomplete(tmp_path: Path, before: Baseline) -> None:
    broken = replace(before.loaded, rejected={"results/tjbench_x.json": "not JSON"})
    decision = measured(tmp_path / "now", replace(before, loaded=broken)).decision
    assert (decision.status, decision.exit_code) == (Status.INCOMPLETE, ExitCode.INCOMPLETE)
    assert "incomplete: the baseline's results/tjbench_x.json is not an artifact: not JSON" in decision.reasons


def test_a_withdrawn_recommendation_is_a_row_that_can_fail(tmp_path: Path, before: Baseline) -> None:
    calm = measured(tmp_path / "now", before, recommends=None).decision
    (row,) = calm.rows
    assert (row.vs_baseline.status, calm.exit_code) == (RowStatus.NOT_RE_MEASURED, ExitCode.PASSED)
    assert row.vs_baseline.reason == "tokenjam 9.1.0 recommends no cheaper model for openai:big"
    strict = measured(tmp_path / "then", before, recommends=None, fail_on="recommendation").decision
    assert strict.exit_code is ExitCode.REGRESSION


def test_nothing_recommended_and_nothing_recorded_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to measure") as refused:
        measured(tmp_path, NONE, recommends=None)
    assert refused.value.why == "tokenjam 9.1.0 recommends no cheaper model for openai:big"


def test_price_files_are_noted(tmp_path: Path) -> None:
    notes = ("prices are overridden by x.toml", "price overrides found and not applied: y.toml")
    assert set(notes) <= set(measured(tmp_path, NONE).decision.notes)
    assert tokenjam_notes(snapshot()) == ()


def test_an_outage_is_a_decision_whose_code_the_policy_sets() -> None:
    error = IncompleteError("TokenJam failed", why="it said nothing")
    decision = unconcluded(error, Config()).decision
    assert (decision.status, decision.exit_code) == (Status.INCOMPLETE, ExitCode.INCOMPLETE)
    assert "TokenJam failed" in decision.reasons[0]
    lax = config_of({"gate": {"fail_on": "regression"}}, "--")
    assert unconcluded(error, lax).decision.exit_code is ExitCode.PASSED


# --- stored artifacts


def loaded(*artifacts: Artifact, rejected: Mapping[str, str] | None = None) -> Loaded:
    return Loaded(artifacts={f"tjbench_{i}.json": a for i, a in enumerate(artifacts)}, rejected=rejected or {})


def test_stored_artifacts_are_judged_against_a_stored_baseline() -> None:
    base = Baseline(label=BaselineLabel(ref="dir"), loaded=loaded(measurement("p" * 40, "p" * 40)))
    worse = loaded(measurement("p" * 40, "f" * 10 + "p" * 30), rejected={"tjbench_bad.json": "not JSON"})
    decision = gate_stored(worse, base, Config())
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert "skipped tjbench_bad.json: not JSON" in decision.notes


def test_a_newer_baseline_than_the_heads_tokenjam_is_not_looked_at() -> None:
    base = loaded(measurement("p" * 40, "p" * 40), measurement("p" * 40, "f" * 40, version="0.8.0"))
    decision = gate_stored(
        loaded(measurement("p" * 40, "p" * 40)), Baseline(label=BaselineLabel(), loaded=base), Config()
    )
    assert decision.status is Status.PASS
    assert any(note.startswith("superseded and not used: ") and "tokenjam 0.8.0" in note for note in decision.notes)


def test_a_baseline_that_is_only_newer_is_no_first_run() -> None:
    base = loaded(measurement("p" * 40, "p" * 40, version="9.9.0"))
    head = loaded(measurement("p" * 40, "p" * 40, version="0.7.0"))
    decision = gate_stored(head, Baseline(label=BaselineLabel(), loaded=base), Config())
    assert decision.status is Status.NO_BASELINE
    assert decision.reasons == (
        "nothing to compare with: the baseline is of tokenjam 9.9.0, newer than this run's 0.7.0",
    )


def test_a_baseline_of_another_row_is_named() -> None:
    base = loaded(measurement("p" * 40, "p" * 40, suite="evals/support.jsonl"))
    head = loaded(measurement("p" * 40, "p" * 40))
    decision = gate_stored(head, Baseline(label=BaselineLabel(), loaded=base), Config())
    assert decision.status is Status.NO_BASELINE
    assert "the baseline holds evals/support.jsonl, " in decision.reasons[0]


def test_a_series_is_judged_by_its_last_step() -> None:
    steps = [
        measurement("p" * 40, "p" * 40, version="0.6.0"),
        measurement("p" * 40, "f" * 12 + "p" * 28, version="0.6.1"),
        measurement("p" * 40, "f" * 12 + "p" * 28, version="0.10.0"),
    ]
    series, decision = series_of(Shelf.holding(loaded(*reversed(steps))), Config())
    assert [row.head.tokenjam_version for row in series.rows if row.head] == ["0.6.0", "0.6.1", "0.10.0"]
    assert decision.status is Status.PASS
    _, until_then = series_of(Shelf.holding(loaded(*steps[:2])), Config())
    assert (until_then.status, until_then.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert until_then.rows[0].original_model == ORIGINAL


def test_last_steps_have_the_status_that_is_decided_over_all_rows_and_earlier_ones_their_own() -> None:
    # Five of five, p = 1/32, is a regression alone, and beside a second row, at half of alpha, is none.
    names = ("a", "b")
    rows = [measurement("p" * 60, "p" * 60, suite=name, version="0.6.0") for name in names]
    rows += [measurement("p" * 60, "f" * 5 + "p" * 55, suite=name, version="0.7.0") for name in names]
    rows += [measurement("p" * 60, "f" * 5 + "f" * 5 + "p" * 50, suite="a", version="0.8.0")]
    rows += [measurement("p" * 60, "p" * 5 + "f" * 5 + "p" * 50, suite="b", version="0.8.0")]
    series, decision = series_of(Shelf.holding(loaded(*rows)), Config())
    found = {(step.row.key.suite, step.row.head.tokenjam_version): step for step in series.steps if step.row.head}
    assert found["b", "0.7.0"].status is RowStatus.REGRESSION
    decided = {row.suite: row.vs_baseline for row in decision.rows}
    assert found["a", "0.8.0"].status is decided["a"].status is RowStatus.INSUFFICIENT_EVIDENCE
    assert found["a", "0.8.0"].reason == decided["a"].reason
    assert "significant alone, not once corrected" in decided["a"].reason


def test_one_measurement_is_no_step() -> None:
    _, decision = series_of(Shelf.holding(loaded(measurement("p" * 40, "p" * 40))), Config())
    assert (decision.status, decision.exit_code) == (Status.NO_BASELINE, ExitCode.PASSED)
    _, nothing = series_of(Shelf.holding(EMPTY), Config())
    assert nothing.status is Status.NO_BASELINE


def test_a_row_that_stops_is_held_against_nothing_and_the_next_one_is_whole(tmp_path: Path, before: Baseline) -> None:
    stopped = measured(tmp_path / "now", before, small=wrong, early_stop=True)
    (artifact,), (row,) = stopped.artifacts.values(), stopped.decision.rows
    # Every task breaks: 8 are evidence enough, and 10 make a verdict. The originals are the baseline's.
    assert (artifact.n_tasks, artifact.candidate_pass) == (10, 0)
    assert row.reused == Reused(original=10, candidate=0, age_days=0)
    assert (row.vs_baseline.status, stopped.decision.exit_code) == (RowStatus.NOT_COMPARABLE, ExitCode.REGRESSION)
    then = Baseline(label=BaselineLabel(ref="path:now"), loaded=load_path(tmp_path / "now"))
    following = measured(tmp_path / "next", then, small=wrong, early_stop=True)
    (artifact,), (row,) = following.artifacts.values(), following.decision.rows
    assert (artifact.n_tasks, artifact.early_stop, row.reused) == (TASKS, None, None)
    assert row.vs_baseline.reason == "the baseline stopped early, so it is no sample of a fixed size"
    assert following.decision.exit_code is ExitCode.REGRESSION


def test_stored_outcomes_of_the_candidate_stop_nothing(tmp_path: Path, before: Baseline) -> None:
    found = measured(tmp_path / "now", before, small=wrong, early_stop=True, reuse="all")
    (artifact,), (row,) = found.artifacts.values(), found.decision.rows
    assert (artifact.n_tasks, artifact.early_stop) == (TASKS, None)
    assert row.vs_baseline.status is RowStatus.NOT_RE_MEASURED
