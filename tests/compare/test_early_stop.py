"""When a row's first tasks suffice, and what a row that stopped there still proves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from tests.fakes.artifacts import ORIGINAL, measurement, trial
from tjbench.compare.artifact import RECOMMENDED, Artifact, EarlyStopRecord, RowKey
from tjbench.compare.confirm import Again, broken_tasks
from tjbench.compare.decision import BaselineLabel, Decision, RowStatus, Status
from tjbench.compare.derived import contradictions
from tjbench.compare.early_stop import Prefix, evidence, evidence_needed, kept_whole, place, stopped_reason
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import Standing, build_matrix
from tjbench.compare.pair import Pair, Rule
from tjbench.compare.series import build_series
from tjbench.config import Policy
from tjbench.errors import ExitCode
from tjbench.store.artifacts import dump, parse_artifact

RULE = Rule()
KEY = RowKey("humaneval", ORIGINAL, RECOMMENDED)
# E(b, 0) = (2^(b+1) - 1) / (b+1): 8 broken tasks make 511/9, which is above 40 and below 280.
EIGHT = 511 / 9


def pairs(marks: str) -> list[Pair]:
    """One task a mark: ``b`` broke, ``c`` recovered, ``s`` stayed, ``u`` is unscored on the candidate."""
    sides = {"b": "pf", "c": "fp", "s": "pp", "u": "pu"}
    return [
        Pair(task_id=str(i), before=trial(sides[mark][0]), after=trial(sides[mark][1])) for i, mark in enumerate(marks)
    ]


def first_stop(marks: str, needed: float = 40.0, rule: Rule = RULE) -> int | None:
    """How many tasks suffice; ``None`` where all do not."""
    prefix = Prefix(rule, needed)
    return next((prefix.n for pair in pairs(marks) if prefix.add(pair)), None)


@pytest.mark.parametrize(
    ("marks", "by_hand"),
    [
        ("", Fraction(1)),
        ("s" * 30, Fraction(1)),
        ("b", Fraction(3, 2)),  # 2^2 times the integral of x over [1/2, 1], 3/8
        ("c", Fraction(1, 2)),  # 2^2 * (1/2 - 3/8)
        ("bc", Fraction(2, 3)),  # 2^3 * integral of x - x^2: 8 * (3/8 - 7/24)
        ("b" * 8, Fraction(511, 9)),
        ("bbbc", Fraction(13, 10)),  # (1 + 5 + 10 + 10) / (5 * 4)
        ("b" * 10 + "c", Fraction(2**12 - 12 - 1, 12 * 11)),
        ("uub" + "s" * 5, Fraction(3, 2)),
    ],
)
def test_evidence_is_the_integral_over_the_scored_changes(marks: str, by_hand: Fraction) -> None:
    assert evidence(pairs(marks)) == pytest.approx(float(by_hand), rel=1e-12)


def test_evidence_of_thousands_of_broken_tasks_fits_into_json() -> None:
    assert evidence(pairs("b" * 2000)) == 1e300


@pytest.mark.parametrize(
    ("rows", "alpha", "needed"),
    [(1, 0.05, 40), (7, 0.05, 280), (18, 0.05, 720), (1, 0.01, 200), (1, 0.2, 40), (0, 0.05, 40)],
)
def test_rows_that_may_stop_share_half_of_alpha_and_none_stops_below_40(rows: int, alpha: float, needed: float) -> None:
    assert evidence_needed(rows, alpha) == pytest.approx(needed)


@pytest.mark.parametrize(
    ("marks", "n"),
    [
        ("s" * 20 + "b" * 20, 28),
        ("b" * 20, 10),  # 8 broke of 8, and fewer than 10 tasks are no verdict
        ("b" * 8 + "s" * 20, 10),
        ("b" * 7 + "s" * 90, None),  # E = 255/8
        ("c" + "b" * 10, None),  # E = 30.9
        ("c" + "b" * 11 + "s", 12),  # E = (2^13 - 13 - 1) / (13 * 12) = 52.4
        ("bc" * 40, None),
        # 1 of 19 tasks unscored is more than 5 %, 1 of 20 is not: E suffices at 18 tasks.
        ("u" + "s" * 9 + "b" * 8 + "s" * 20, 20),
        ("u" * 30 + "b" * 20, None),
    ],
)
def test_a_row_stops_at_the_first_prefix_with_evidence_and_a_verdict_of_its_own(marks: str, n: int | None) -> None:
    assert first_stop(marks) == n


def test_a_lower_alpha_of_the_verdict_holds_a_row_longer() -> None:
    marks = "s" * 10 + "b" * 20
    assert first_stop(marks) == 18
    assert first_stop(marks, rule=Rule(alpha=0.001)) == 21  # 2^(1 - 11) is the first p below it
    assert first_stop(marks, needed=280) == 21  # E(10, 0) = 186, E(11, 0) = 341


def test_the_seeded_order_is_that_of_the_task_alone() -> None:
    ids = [f"t{i}" for i in range(50)]
    order = sorted(ids, key=lambda i: place(3, "sums", i))
    assert [i for i in order if i in ids[:20]] == sorted(ids[:20], key=lambda i: place(3, "sums", i))
    assert order != ids
    assert order != sorted(ids, key=lambda i: place(4, "sums", i))
    assert order != sorted(ids, key=lambda i: place(3, "others", i))
    assert place(None, "sums", "t0") == place(0, "sums", "t0")


# What a stored row proves


def early(broke: int, stayed: int = 12, *, planned: int | None = 90, needed: float = 40.0, **more: Any) -> Artifact:
    """A row whose first tasks in seeded order stayed and whose last ``broke``; not stopped without ``planned``."""
    suite = more.get("suite", "humaneval")
    n = broke + stayed
    ids = sorted((f"{suite}/{i}" for i in range(n)), key=lambda i: place(None, suite, i))
    found = measurement("p" * n, "p" * stayed + "f" * broke, task_ids=ids, **more)
    e = evidence(Pair(task_id=t.task_id, before=t.original, after=t.candidate) for t in found.tasks)
    record = EarlyStopRecord(e_value=e, n_used=n, n_planned=planned or n, e_needed=needed)
    told = {"verdict_reason": stopped_reason(found.tasks, planned)} if planned else {}
    return found.model_copy(update={"early_stop": record, **told})


def judged(heads: Sequence[Artifact], bases: Sequence[Artifact] = (), policy: GatePolicy | None = None) -> Decision:
    asked = policy or GatePolicy()
    return decide(build_matrix(heads, bases, asked.rule), asked, baseline=BaselineLabel())


def test_a_row_without_baseline_that_stopped_fails_the_job_by_its_evidence() -> None:
    decision = judged([early(8)])
    (row,) = decision.rows
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert "worse than the original, and no baseline to compare with: 8 tasks broke, 0 recovered" in decision.reasons[0]
    assert "stopped early after 20 of 90 tasks (E = 56.8)" in decision.reasons[0]
    assert row.early_stop == EarlyStopRecord(e_value=EIGHT, n_used=20, n_planned=90, e_needed=40)
    assert (row.delta_ci_pp, row.headline_ci_pp, row.p_value, row.detectable_drop_pp) == (None, None, None, None)
    assert row.accuracy_delta_pp == -40
    assert "early stop: 1 row could stop, at 0.025 in all; every other test shares the other 0.025" in decision.notes


def test_one_row_of_seven_needs_seven_times_the_evidence() -> None:
    others = [early(0, 60, planned=None, suite=f"s{i}") for i in range(6)]
    assert judged([early(8)]).exit_code is ExitCode.REGRESSION
    weak = judged([early(8), *others])
    assert weak.exit_code is ExitCode.PASSED
    assert any("significant alone, not once corrected" in row.vs_baseline.reason for row in weak.rows)
    assert judged([early(11), *others]).exit_code is ExitCode.REGRESSION  # 341 of 280


def test_nothing_is_compared_with_a_row_that_stopped() -> None:
    whole = measurement("p" * 90, "p" * 90, version="0.6.0")
    head = judged([early(8)], [whole])
    (row,) = head.rows
    assert row.vs_baseline.status is RowStatus.NOT_COMPARABLE
    assert row.vs_baseline.reason == "this run stopped early, so it is no sample of a fixed size"
    assert head.exit_code is ExitCode.REGRESSION
    assert row.vs_baseline.removed == ()
    dropped = judged([early(8)], [whole], GatePolicy(fail_on=(Policy.DROPPED,)))
    assert dropped.exit_code is ExitCode.PASSED
    base = build_matrix([measurement("p" * 90, "p" * 90)], [early(8, version="0.6.0")], RULE).rows[0]
    assert (base.standing, base.change) == (Standing.NOT_COMPARABLE, None)
    assert base.why == "the baseline stopped early, so it is no sample of a fixed size"
    assert base.overlap.added == ()


def test_rows_that_could_stop_and_did_not_are_tested_at_half_of_alpha() -> None:
    # 5 broke and none recovered: p = 1/32, between .025 and .05.
    base = measurement("p" * 60, "p" * 60, version="0.6.0")
    head = measurement("p" * 60, "f" * 5 + "p" * 55)
    could = head.model_copy(update={"early_stop": EarlyStopRecord(e_value=10.5, n_used=60, n_planned=60, e_needed=40)})
    assert judged([head], [base]).exit_code is ExitCode.REGRESSION
    calm = judged([could], [base])
    assert calm.exit_code is ExitCode.PASSED
    assert calm.rows[0].headline_ci_pp == head.stats.headline_ci_pp
    assert judged([head.model_copy(update={"early_stop": None})], [base]).notes == ()


def test_the_policies_downsize_and_savings_on_a_row_that_stopped() -> None:
    base = measurement("p" * 90, "p" * 90, version="0.6.0")
    assert judged([early(8)], [base], GatePolicy(fail_on=(Policy.DOWNSIZE,))).exit_code is ExitCode.REGRESSION
    dear = judged([early(8, outputs=(50, 900))], [base], GatePolicy(fail_on=(Policy.SAVINGS,)))
    assert dear.exit_code is ExitCode.PASSED
    assert (
        f"savings not judged: humaneval, {ORIGINAL}: this run stopped early, so it is no sample of a fixed size"
    ) in dear.notes


def test_a_stopped_row_asked_again_needs_the_same_evidence_from_what_broke_twice() -> None:
    matrix = build_matrix([early(11)], [], RULE)
    policy = GatePolicy()
    ((key, ids),) = broken_tasks(matrix.rows, policy).items()
    assert len(ids) == 11

    def asked_again(marks: str) -> Decision:
        trials = {key: {task_id: trial(mark) for task_id, mark in zip(ids, marks, strict=True)}}
        return decide(matrix, policy, baseline=BaselineLabel(), again=Again(trials=trials, cost_usd=0.01))

    assert asked_again("f" * 8 + "p" * 3).exit_code is ExitCode.REGRESSION
    calm = asked_again("f" * 7 + "p" * 4)  # E(7, 0) = 31.9
    assert (calm.status, calm.exit_code) == (Status.INCONCLUSIVE, ExitCode.PASSED)
    assert "not confirmed: 7 of 11 broken tasks broke again, $0.01" in calm.reasons


def test_a_series_shows_a_stopped_step_and_compares_with_the_one_before() -> None:
    first = measurement("p" * 90, "p" * 90, version="0.6.0")
    last = measurement("p" * 90, "f" * 9 + "p" * 81, version="0.8.0")
    series = build_series([first, early(8, version="0.7.0"), last], RULE)
    assert [row.head.tokenjam_version for row in series.rows if row.head] == ["0.6.0", "0.7.0", "0.8.0"]
    assert series.rows[1].why == "this run stopped early, so it is no sample of a fixed size"
    assert series.rows[2].baseline is first
    assert series.rows[2].change is not None
    assert series.rows[2].change.b == 9


def test_rows_whose_baseline_stopped_or_is_a_regression_are_measured_whole() -> None:
    worse = measurement("p" * 60, "f" * 30 + "p" * 30, suite="worse")
    fine = measurement("p" * 60, "p" * 60, suite="fine")
    newer = early(8, suite="newer", version="0.9.0")
    assert {key.suite: why for key, why in kept_whole([early(8), worse, fine, newer], "0.6.1").items()} == {
        "humaneval": "its baseline stopped early, so this measurement is to be the next one",
        "worse": "its baseline's candidate is worse than the original too, so that alone is no news",
    }


# What a stored file may say


def test_a_stopped_row_is_read_as_it_was_written() -> None:
    written = early(8)
    assert parse_artifact(dump(written).encode(), "a.json") == written
    assert contradictions(written) == ()


def test_evidence_that_the_tasks_do_not_bear_out_is_named() -> None:
    forged = early(8).model_copy(
        update={"early_stop": EarlyStopRecord(e_value=99, n_used=20, n_planned=90, e_needed=40)}
    )
    assert [str(found) for found in contradictions(forged)] == [f"early_stop.e_value: stored 99.0, recomputed {EIGHT}"]


def test_tasks_beyond_the_first_that_suffice_are_named() -> None:
    longer = early(12)  # E sufficed at the 8th broken task, the 20th of all
    (found,) = contradictions(longer)
    assert (found.field, found.stored, found.recomputed) == ("early_stop.n_used", 24, 20)


def test_tasks_that_are_not_the_first_of_their_order_are_named() -> None:
    whole = early(8)
    turned = tuple(
        task.model_copy(update={"task_id": other.task_id})
        for task, other in zip(whole.tasks, reversed(whole.tasks), strict=True)
    )
    # Broken ones first: 8 of them and 2 more make a verdict.
    (found,) = contradictions(whole.model_copy(update={"tasks": turned}))
    assert (found.field, found.stored, found.recomputed) == ("early_stop.n_used", 20, 10)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"e_value": 39.0, "n_used": 20, "n_planned": 90, "e_needed": 40}, "stopped at E = 39, and 40 is needed"),
        ({"e_value": 56.8, "n_used": 91, "n_planned": 90, "e_needed": 40}, "91 of 90 tasks is no part"),
        ({"e_value": 56.8, "n_used": 20, "n_planned": 90, "e_needed": 2}, "greater than or equal to 40"),
    ],
)
def test_a_record_that_no_run_makes_is_refused(record: dict[str, float], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        EarlyStopRecord.model_validate(record)


def test_only_a_regression_stops() -> None:
    calm = measurement("p" * 30, "p" * 30)
    record = {"e_value": 50.0, "n_used": 30, "n_planned": 90, "e_needed": 40.0}
    with pytest.raises(ValidationError, match="the verdict is no_significant_regression"):
        Artifact.model_validate({**calm.model_dump(by_alias=True), "early_stop": record})
