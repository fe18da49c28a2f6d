"""What is left of an alarm when only tasks that broke twice count."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fakes.artifacts import ORIGINAL, measurement, trial
from tjbench.compare.artifact import RECOMMENDED, Artifact, RowKey
from tjbench.compare.confirm import Again, broken_tasks
from tjbench.compare.decision import BaselineLabel, Decision, RowStatus, Status
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import Matrix, build_matrix
from tjbench.compare.pair import Rule
from tjbench.config import Policy
from tjbench.errors import ExitCode

N = 60


def key(suite: str) -> RowKey:
    return RowKey(suite, ORIGINAL, RECOMMENDED)


def rows(*broken: int) -> Matrix:
    """One suite for each number of tasks that broke."""
    heads = [measurement("p" * N, "f" * b + "p" * (N - b), suite=f"s{i}") for i, b in enumerate(broken)]
    bases = [measurement("p" * N, "p" * N, suite=head.suite.name, version="0.6.0") for head in heads]
    return build_matrix(heads, bases, Rule())


def confirmed(matrix: Matrix, marks: Sequence[str], policy: GatePolicy | None = None, samples: int = 1) -> Decision:
    """The decision where each row's broken tasks, asked again, came out as ``marks``."""
    wanted = broken_tasks(matrix.rows, policy or GatePolicy())
    trials = {
        asked: {task_id: trial(mark, samples=samples) for task_id, mark in zip(ids, marks[i], strict=True)}
        for i, (asked, ids) in enumerate(sorted(wanted.items()))
    }
    return decide(matrix, policy or GatePolicy(), baseline=BaselineLabel(), again=Again(trials=trials, cost_usd=0.03))


def test_only_tasks_that_broke_are_asked_again_and_only_where_the_job_would_fail() -> None:
    assert broken_tasks(rows(6).rows, GatePolicy()) == {key("s0"): tuple(f"s0/{i}" for i in range(6))}
    assert broken_tasks(rows(4).rows, GatePolicy()) == {}
    assert broken_tasks(rows(6).rows, GatePolicy(fail_on=(Policy.DOWNSIZE,))) == {}


def test_all_rows_that_ring_together_are_asked_again() -> None:
    # 2^-4 each, 2^-8 together: only the pooled test rejects.
    matrix = rows(4, 4)
    assert {asked: len(ids) for asked, ids in broken_tasks(matrix.rows, GatePolicy()).items()} == {
        key("s0"): 4,
        key("s1"): 4,
    }
    assert confirmed(matrix, ["ffff", "fffp"]).exit_code is ExitCode.REGRESSION  # 2^-7 < .025
    calm = confirmed(matrix, ["ffpp", "fffp"])  # 2^-5 > .025
    assert (calm.status, calm.exit_code) == (Status.INCONCLUSIVE, ExitCode.PASSED)
    assert calm.reasons == ("not confirmed: 5 of 8 broken tasks broke again (p = 0.031), $0.03",)
    strict = GatePolicy(fail_on=(Policy.REGRESSION, Policy.INCONCLUSIVE))
    assert confirmed(matrix, ["ffpp", "fffp"], strict).exit_code is ExitCode.REGRESSION


def test_a_confirmed_row_stands_beside_one_that_is_not() -> None:
    decision = confirmed(rows(8, 8), ["f" * 8, "f" + "p" * 7])
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert [row.vs_baseline.status for row in decision.rows] == [
        RowStatus.REGRESSION,
        RowStatus.INSUFFICIENT_EVIDENCE,
    ]
    assert "not confirmed: 1 of 8 broken tasks broke again (p = 0.500)" in decision.rows[1].vs_baseline.reason


def test_tasks_that_recovered_stay_recovered() -> None:
    # b = 9, c = 1: p = 11/1024. Seven that broke twice: P(Bin(8, 1/2) <= 1) = 9/256; six: 8/128 > .05.
    head = measurement("p" * N, "f" * 9 + "p" * (N - 9))
    base = measurement("p" * N, "p" * (N - 1) + "f", version="0.6.0")
    matrix = build_matrix([head], [base], Rule())
    assert confirmed(matrix, ["fffffffpp"]).exit_code is ExitCode.REGRESSION
    assert confirmed(matrix, ["ffffffppp"]).exit_code is ExitCode.PASSED


def test_of_several_samples_a_task_lost_what_it_lost_both_times() -> None:
    def of(candidate: str, version: str) -> Artifact:
        return measurement("3" * N, candidate, version=version, samples=3)

    matrix = build_matrix([of("0" * 6 + "3" * (N - 6), "0.6.1")], [of("3" * N, "0.6.0")], Rule())
    # Six tasks that lost anything twice: 2^-6. Four: 2^-4.
    assert confirmed(matrix, ["012012"], samples=3).exit_code is ExitCode.REGRESSION
    assert confirmed(matrix, ["012033"], samples=3).exit_code is ExitCode.PASSED


def test_a_task_without_an_answer_counts_as_broken_again() -> None:
    decision = confirmed(rows(6), ["uuffff"])
    assert decision.exit_code is ExitCode.REGRESSION
    assert decision.confirmation is not None
    assert "6 of 6 broken tasks broke again (p = 0.016), 2 of them counted as broken" in decision.confirmation.sentence
    assert confirmed(rows(6), ["uupppp"]).exit_code is ExitCode.PASSED


def test_a_confirmation_that_could_not_begin_changes_nothing() -> None:
    again = Again(trials={}, trouble="the disk is full")
    decision = decide(rows(6), GatePolicy(), baseline=BaselineLabel(), again=again)
    assert decision.exit_code is ExitCode.REGRESSION
    assert decision.reasons[1] == (
        "confirm: the broken tasks could not be asked again, so the first run stands: the disk is full"
    )
