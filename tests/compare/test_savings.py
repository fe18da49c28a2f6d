"""What a candidate costs against the baseline's, on token counts made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag, RowKey
from tjbench.compare.decision import BaselineLabel, Decision, Status
from tjbench.compare.gate import GatePolicy, RowPolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.compare.savings import CostRise, cost_rise, find_dearer
from tjbench.config import Policy
from tjbench.errors import ExitCode
from tjbench.pricing import Usage

ALL = "p" * 40
SAVINGS = (Policy.SAVINGS,)


def judged(
    head: Artifact | list[Artifact], base: Artifact | list[Artifact], policy: GatePolicy | None = None
) -> Decision:
    heads, bases = ([found] if isinstance(found, Artifact) else found for found in (head, base))
    matrix = build_matrix(heads, bases, Rule())
    return decide(matrix, policy or GatePolicy(fail_on=SAVINGS), baseline=BaselineLabel(ref="release/1.0"))


def rise(head: Artifact, base: Artifact) -> CostRise | str:
    (row,) = build_matrix([head], [base], Rule()).rows
    return cost_rise(row)


def with_usage(artifact: Artifact, usage: Usage, share: float = 1.0) -> Artifact:
    """The artifact with the candidate's usage replaced on the first ``share`` of its tasks."""
    last = round(share * len(artifact.tasks))
    tasks = tuple(
        task.model_copy(update={"candidate": replace(task.candidate, usage=usage)}) if i < last else task
        for i, task in enumerate(artifact.tasks)
    )
    return artifact.model_copy(update={"tasks": tasks})


BASE = measurement(ALL, ALL, outputs=(50, 100))  # 200 tokens a task on the candidate


def test_a_candidate_that_uses_a_fifth_more_tokens_fails() -> None:
    decision = judged(measurement(ALL, ALL, outputs=(50, 140)), BASE)  # 240 tokens
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.reasons == (
        f"savings: humaneval, {ORIGINAL} → {CANDIDATE}: "
        "the candidate costs 20.0 % more than the baseline's on 40 tasks (p < 0.001)",
    )


def test_four_percent_more_do_not_matter() -> None:
    decision = judged(measurement(ALL, ALL, outputs=(50, 108)), BASE)
    assert (decision.status, decision.notes) == (Status.PASS, ())


def test_nothing_is_tested_where_no_policy_asks() -> None:
    decision = judged(measurement(ALL, ALL, outputs=(50, 1000)), BASE, GatePolicy())
    assert decision.status is Status.PASS


def test_a_price_that_rose_is_no_rise_in_tokens() -> None:
    decision = judged(measurement(ALL, ALL, outputs=(50, 100), prices=(10.0, 8.0)), BASE)
    assert decision.status is Status.PASS


def test_both_sides_are_priced_by_the_heads_rates() -> None:
    found = rise(measurement(ALL, ALL, outputs=(50, 200), prices=(10.0, 4.0)), BASE)
    assert isinstance(found, CostRise)
    assert found.before == pytest.approx([200 * 4e-6] * 40)
    assert found.after == pytest.approx([300 * 4e-6] * 40)
    assert found.pct == pytest.approx(50)


def test_a_dearer_model_that_is_recommended_now_is_a_rise_at_its_own_price() -> None:
    sonnet = "anthropic:claude-sonnet-4-6"
    head = measurement(ALL, ALL, models=(ORIGINAL, sonnet), prices=(10.0, 6.0))
    found = rise(head, BASE)
    assert isinstance(found, CostRise)
    assert found.pct == pytest.approx(200)  # the same tokens at 6 in place of 2 dollars


def test_a_few_long_answers_are_chance() -> None:
    head = with_usage(BASE, Usage(input=100, output=400), share=2 / 40)
    found = rise(head, BASE)
    assert isinstance(found, CostRise)
    assert found.pct == pytest.approx(100 * 2 * 300 / (40 * 200))
    assert judged(head, BASE).status is Status.PASS


def test_tasks_without_a_score_or_without_usage_are_left_out() -> None:
    head = measurement(ALL, "u" + "p" * 39, outputs=(50, 100))
    head = with_usage(head, Usage(), share=3 / 40)
    found = rise(head, BASE)
    assert isinstance(found, CostRise)
    assert len(found.before) == 37


@pytest.mark.parametrize(
    ("head", "base", "why"),
    [
        (measurement(ALL, ALL, source="default"), BASE, f"TokenJam has no price for {CANDIDATE}"),
        (
            measurement(ALL, ALL, models=(ORIGINAL, "anthropic:new")),
            measurement(ALL, ALL, source="default"),
            f"TokenJam has no price for {CANDIDATE}",
        ),
        (
            measurement(ALL, ALL, flags=(Flag.MOCK,)),
            measurement(ALL, ALL, flags=(Flag.MOCK,)),
            "scripted models use no tokens",
        ),
        (BASE, with_usage(BASE, Usage(output=100)), "no task says on both sides what it used"),
        (measurement(ALL, ALL, prices=(1.0, 0.0)), BASE, "the baseline's candidate cost nothing"),
    ],
    ids=["placeholder price", "placeholder in the baseline", "mock", "output tokens alone", "free"],
)
def test_what_cannot_be_priced_is_said_and_not_judged(head: Artifact, base: Artifact, why: str) -> None:
    decision = judged(head, base)
    assert decision.notes == (f"savings not judged: humaneval, {ORIGINAL}: {why}",)
    assert decision.exit_code is ExitCode.PASSED


def test_a_baseline_at_a_placeholder_price_is_repriced() -> None:
    found = rise(measurement(ALL, ALL, outputs=(50, 140)), measurement(ALL, ALL, source="default"))
    assert isinstance(found, CostRise)


def test_a_row_without_baseline_or_an_incomplete_one_is_not_judged() -> None:
    half = measurement(ALL, "u" * 20 + "p" * 20, outputs=(50, 500))
    assert judged(half, BASE).status is Status.INCOMPLETE
    assert judged(BASE, []).notes == ()


def test_an_advisory_row_never_fails() -> None:
    key = BASE.key
    policy = GatePolicy(fail_on=SAVINGS, rows={key: RowPolicy(required=False)})
    decision = judged(measurement(ALL, ALL, outputs=(50, 140)), BASE, policy)
    assert (decision.status, decision.exit_code) == (Status.PASS, ExitCode.PASSED)


def test_alpha_is_shared_over_rows_and_a_shared_candidate_counts_once() -> None:
    # p = 1/256 is below 0.05 alone and as one run that 20 originals share, but above 0.05 / 20.
    dearer, even = measurement("p" * 8, "p" * 8, outputs=(50, 140)), measurement("p" * 8, "p" * 8)
    (row,) = build_matrix([dearer], [even], Rule()).rows
    found = cost_rise(row)
    assert isinstance(found, CostRise)
    assert found.p_value == pytest.approx(2**-8, abs=0.002)  # all eight signs the same
    names = [f"openai:m{i}" for i in range(20)]
    shared = [replace(row, key=RowKey("humaneval", name, "recommended")) for name in names]
    assert len(find_dearer(shared, 0.05).rises) == 20
    distinct = [replace(row, key=RowKey(f"suite-{name}", name, "recommended")) for name in names]
    assert find_dearer(distinct, 0.05).rises == {}
    assert find_dearer([], 0.05).rises == {}


def test_the_statistical_policies_share_alpha() -> None:
    # p = 1/32 on five tasks: enough for alpha 0.05 whole, not for a third of it.
    base, head = measurement("p" * 5, "p" * 5), measurement("p" * 5, "p" * 5, outputs=(50, 140))
    assert judged(head, base).status is Status.REGRESSION
    three = GatePolicy(fail_on=(Policy.REGRESSION, Policy.DOWNSIZE, Policy.SAVINGS))
    assert judged(head, base, three).exit_code is ExitCode.PASSED


def stating(artifact: Artifact, dollars: float) -> Artifact:
    """The artifact as another tool would leave it: no tokens, no prices, and the candidate's dollars a task."""
    tasks = tuple(
        task.model_copy(update={"candidate": replace(task.candidate, usage=Usage(), stated_cost_usd=dollars)})
        for task in artifact.tasks
    )
    rates = {model: replace(rates, source="unknown") for model, rates in artifact.rates.items()}
    return artifact.model_copy(update={"tasks": tasks, "rates": rates})


def test_dollars_that_another_tool_states_are_judged_where_no_tokens_are_known() -> None:
    found = rise(stating(BASE, 0.0012), stating(BASE, 0.0010))
    assert isinstance(found, CostRise)
    assert found.pct == pytest.approx(20)
    assert found.p_value < 0.001
    assert rise(stating(BASE, 0.001), BASE) == f"TokenJam has no price for {CANDIDATE}"
