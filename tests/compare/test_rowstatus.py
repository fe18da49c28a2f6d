"""What a decided row says beside its verdict: who moved, and which tasks really broke."""

from __future__ import annotations

from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel, Decision, RowStatus
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.errors import ExitCode
from tjbench.report.markdown import render_decision

N = 40
TOGETHER = "moved together: suspect provider or harness"


def decided(head: Artifact, before: Artifact) -> Decision:
    return decide(build_matrix([head], [before], Rule()), GatePolicy(), baseline=BaselineLabel(ref="release/1.0"))


def test_a_regression_of_both_models_fails_and_says_whom_to_suspect() -> None:
    fell = "f" * 10 + "p" * 30
    decision = decided(measurement(fell, fell), measurement("p" * N, "p" * N, version="0.6.0"))
    assert decision.exit_code is ExitCode.REGRESSION
    assert TOGETHER in decision.reasons[0]
    versus = decision.rows[0].vs_baseline
    assert versus.status is RowStatus.REGRESSION
    assert versus.attribution_p is not None
    assert (versus.attribution_p.candidate, versus.attribution_p.original) == (2**-10, 2**-10)
    assert f"Who moved since the baseline: {TOGETHER}" in render_decision(decision)


def test_a_regression_of_the_candidate_alone_suspects_nothing_else() -> None:
    head = measurement("p" * N, "f" * 10 + "p" * 30)
    decision = decided(head, measurement("p" * N, "p" * N, version="0.6.0"))
    assert TOGETHER not in decision.reasons[0]
    assert "only the candidate moved" in (decision.rows[0].vs_baseline.attribution or "")


def test_what_is_not_compared_has_no_attribution() -> None:
    decision = decided(measurement("p" * N, "p" * N, scorer="2"), measurement("p" * N, "p" * N, version="0.6.0"))
    versus = decision.rows[0].vs_baseline
    assert (versus.attribution, versus.attribution_p, versus.broke_surely) == (None, None, ())


def test_tasks_that_really_broke_are_marked_and_come_first() -> None:
    before = measurement("9" * 20, "9" * 20, samples=9, version="0.6.0")
    row = decided(measurement("9" * 20, "8" + "0" + "9" * 18, samples=9), before).rows[0]
    assert row.vs_baseline.broke == row.broke == ("humaneval/1", "humaneval/0")
    assert row.vs_baseline.broke_surely == row.broke_surely == ("humaneval/1",)
    text = render_decision(decided(measurement("9" * 20, "80" + "9" * 18, samples=9), before))
    assert "`humaneval/1` (really broke), `humaneval/0`" in text
    assert "Really broke (1): worse beyond the chance of its own 9 samples; the others follow by p." in text


def test_few_samples_prove_no_single_task_and_say_that_the_order_is_by_p() -> None:
    before = measurement("3" * 20, "3" * 20, samples=3, version="0.6.0")
    text = render_decision(decided(measurement("3" * 20, "21" + "3" * 18, samples=3), before))
    assert "`humaneval/1`, `humaneval/0`" in text
    assert "No single task is worse beyond the chance of its 3 samples: the order is by p." in text
