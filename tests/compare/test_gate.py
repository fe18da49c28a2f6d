"""The decision table: every kind of row under every policy, alone and beside every other, and the corrected tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from itertools import product
from math import comb

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.accepted import with_acceptances
from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag, RowKey
from tjbench.compare.decision import BaselineLabel, Decision, DecisionRow, RowStatus, Status
from tjbench.compare.gate import GatePolicy, RowPolicy, decide
from tjbench.compare.matrix import Matrix, Row, build_matrix, build_row
from tjbench.compare.pair import Rule
from tjbench.config import DEFAULT_FAIL_ON, Accept, Policy
from tjbench.errors import ExitCode

SONNET = "anthropic:claude-sonnet-4-6"
LABEL = BaselineLabel(ref="release/1.0", sha="0" * 40)
PASS, BROKE = "p" * 60, "f" * 40 + "p" * 20
ALL = tuple(policy for policy in Policy if policy not in {Policy.NEVER, Policy.UNSAFE, Policy.SAVINGS})


def judged(
    heads: Iterable[Artifact],
    bases: Iterable[Artifact] = (),
    policy: GatePolicy | None = None,
    failures: Sequence[str] = (),
) -> Decision:
    matrix = build_matrix(heads, bases, (policy or GatePolicy()).rule)
    return decide(matrix, policy or GatePolicy(), baseline=LABEL, failures=failures)


def only(*policies: Policy) -> GatePolicy:
    return GatePolicy(fail_on=policies)


# The decision table


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A row, and what DESIGN says of it: its status and the policies that it concerns."""

    head: tuple[str, str] | None
    base: tuple[str, str] | None
    status: RowStatus
    concerns: frozenset[Policy]
    head_changes: tuple[tuple[str, object], ...] = ()
    withdrawn: bool = False


def kind(
    head: tuple[str, str] | None,
    base: tuple[str, str] | None,
    status: RowStatus,
    *concerns: Policy,
    withdrawn: bool = False,
    **head_changes: object,
) -> Kind:
    return Kind(
        head=head,
        base=base,
        status=status,
        concerns=frozenset(concerns),
        head_changes=tuple(head_changes.items()),
        withdrawn=withdrawn,
    )


TODAY = date(2026, 6, 15)


def known(suite: str, until: date = TODAY, candidate: str = RECOMMENDED) -> Accept:
    return Accept(suite=suite, original=ORIGINAL, candidate=candidate, until=until, reason="ticket 7")


SAME, WORSE = (PASS, PASS), (PASS, BROKE)
BOTH_FELL = (BROKE, BROKE)
KINDS = {
    "unchanged": kind(SAME, SAME, RowStatus.NO_REGRESSION),
    "regressed": kind(WORSE, SAME, RowStatus.REGRESSION, Policy.REGRESSION, Policy.DOWNSIZE),
    "fell with the original": kind(BOTH_FELL, SAME, RowStatus.REGRESSION, Policy.REGRESSION),
    "as bad as before": kind(WORSE, WORSE, RowStatus.NO_REGRESSION, Policy.DOWNSIZE),
    "too few": kind(("p" * 20, "p" * 20), ("p" * 20, "p" * 20), RowStatus.INSUFFICIENT_EVIDENCE, Policy.INCONCLUSIVE),
    "other scorer": kind(SAME, SAME, RowStatus.NOT_COMPARABLE, Policy.INCONCLUSIVE, scorer="2"),
    "other scorer and bad": kind(
        WORSE, WORSE, RowStatus.NOT_COMPARABLE, Policy.INCONCLUSIVE, Policy.REGRESSION, Policy.DOWNSIZE, scorer="2"
    ),
    "all checks new": kind(SAME, SAME, RowStatus.NOT_COMPARABLE, Policy.INCONCLUSIVE, Policy.DROPPED, checks="new"),
    "gone": kind(None, SAME, RowStatus.NOT_RE_MEASURED, Policy.DROPPED),
    "withdrawn": kind(None, SAME, RowStatus.NOT_RE_MEASURED, Policy.RECOMMENDATION, withdrawn=True),
    "reused": kind(SAME, SAME, RowStatus.NOT_RE_MEASURED, reused=["artifact:x"] * 60),
    "new": kind(SAME, None, RowStatus.NO_BASELINE, Policy.NO_BASELINE),
    "new and bad": kind(WORSE, None, RowStatus.NO_BASELINE, Policy.NO_BASELINE, Policy.REGRESSION, Policy.DOWNSIZE),
    "incomplete": kind((PASS, "p" * 50 + "u" * 10), SAME, RowStatus.INCOMPLETE),
    "incomplete and bad": kind((PASS, "f" * 50 + "u" * 10), SAME, RowStatus.INCOMPLETE),
    "half covered": kind(("p" * 40, "p" * 40), SAME, RowStatus.NO_REGRESSION, Policy.DROPPED),
    "repointed": kind(SAME, SAME, RowStatus.NO_REGRESSION, Policy.RECOMMENDATION, models=(ORIGINAL, SONNET)),
}
FAILING = {Policy.REGRESSION, Policy.DOWNSIZE, Policy.DROPPED, Policy.RECOMMENDATION}
UNCLEAR = {RowStatus.INSUFFICIENT_EVIDENCE, RowStatus.NOT_COMPARABLE}


@cache
def row_of(name: str, suite: str) -> Row:
    of = KINDS[name]
    head = of.head and measurement(*of.head, suite=suite, **dict(of.head_changes))  # type: ignore[arg-type]
    base = of.base and measurement(*of.base, suite=suite, version="0.6.0")
    row = build_row(RowKey(suite, ORIGINAL, RECOMMENDED), head or None, base or None, Rule())
    return replace(row, withdrawn=of.withdrawn, why="no cheaper model" if of.withdrawn else row.why)


def expected(
    rows: Sequence[tuple[str, bool]], fail_on: Sequence[Policy], accepted: Sequence[bool] = ()
) -> tuple[Status, ExitCode]:
    """DESIGN 4.2 and 4.3 in the words of the table: rows are (kind, required).

    An acceptance changes no status: it only keeps a row's regression and downsize from failing the job.
    """
    status, code = expected_unexcused(rows, fail_on)
    excused = [is_accepted and is_required for is_accepted, (_, is_required) in zip(accepted, rows, strict=False)]
    if not any(excused):
        return status, code
    fired = {
        policy
        for (name, is_required), is_excused in zip(rows, excused, strict=True)
        for policy in KINDS[name].concerns - ({Policy.REGRESSION, Policy.DOWNSIZE} if is_excused else set())
        if is_required
    } & set(fail_on)
    if fired & FAILING:
        return status, ExitCode.REGRESSION
    incomplete = any(KINDS[name].status is RowStatus.INCOMPLETE and is_required for name, is_required in rows)
    if (incomplete or status is Status.INCOMPLETE) and Policy.INCOMPLETE in fail_on:
        return status, ExitCode.INCOMPLETE
    return status, ExitCode.REGRESSION if fired else ExitCode.PASSED


def expected_unexcused(rows: Sequence[tuple[str, bool]], fail_on: Sequence[Policy]) -> tuple[Status, ExitCode]:
    required = [KINDS[name] for name, is_required in rows if is_required]
    fired = {policy for found in required for policy in found.concerns} & set(fail_on)
    proven = any(Policy.REGRESSION in found.concerns for found in required)
    incomplete = any(found.status is RowStatus.INCOMPLETE for found in required)
    nothing = all(KINDS[name].head is None for name, _ in rows)
    withdrawn = any(KINDS[name].withdrawn for name, _ in rows)
    seen = {found.status for found in required} or {KINDS[name].status for name, _ in rows}
    if not required and seen & {RowStatus.REGRESSION, RowStatus.INCOMPLETE}:
        seen |= UNCLEAR  # advisory rows cannot make it worse than inconclusive
    if fired & FAILING or proven:
        status = Status.REGRESSION
    elif incomplete or (nothing and not withdrawn):
        status = Status.INCOMPLETE
    elif nothing or seen & UNCLEAR:
        status = Status.INCONCLUSIVE
    else:
        status = Status.NO_BASELINE if RowStatus.NO_BASELINE in seen else Status.PASS
    if fired & FAILING:
        return status, ExitCode.REGRESSION
    if (incomplete or status is Status.INCOMPLETE) and Policy.INCOMPLETE in fail_on:
        return status, ExitCode.INCOMPLETE
    return status, ExitCode.REGRESSION if fired else ExitCode.PASSED


def decided(
    rows: Sequence[tuple[str, bool]], fail_on: Sequence[Policy], accepted: Sequence[bool] = (), until: date = TODAY
) -> Decision:
    suites = [f"s{i}" for i in range(len(rows))]
    made = tuple(row_of(name, suite) for (name, _), suite in zip(rows, suites, strict=True))
    policies = {
        row.key: RowPolicy(required=required) for row, (_, required) in zip(made, rows, strict=True) if not required
    }
    policy = GatePolicy(fail_on=tuple(fail_on), rows=policies)
    accepts = [known(suite, until) for suite, is_accepted in zip(suites, accepted, strict=False) if is_accepted]
    return decide(Matrix(rows=made), with_acceptances(policy, accepts, made, TODAY), baseline=LABEL)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_row_has_its_status(name: str) -> None:
    (row,) = decided([(name, True)], DEFAULT_FAIL_ON).rows
    assert row.vs_baseline.status is KINDS[name].status


@pytest.mark.parametrize("required", [True, False], ids=["required", "advisory"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_row_under_every_policy(name: str, required: bool) -> None:
    sets: list[tuple[Policy, ...]] = [(policy,) for policy in (*ALL, Policy.NEVER)]
    for fail_on in (*sets, DEFAULT_FAIL_ON, ALL):
        decision = decided([(name, required)], fail_on)
        assert (decision.status, decision.exit_code) == expected([(name, required)], fail_on), fail_on
        assert decision.reasons
        if not required:
            assert decision.exit_code in {ExitCode.PASSED, ExitCode.INCOMPLETE}


@pytest.mark.parametrize(("first", "second"), list(product(KINDS, repeat=2)))
def test_every_kind_of_row_beside_every_other(first: str, second: str) -> None:
    for second_required in (True, False):
        rows = [(first, True), (second, second_required)]
        for fail_on in (
            DEFAULT_FAIL_ON,
            (Policy.NEVER,),
            (Policy.INCOMPLETE,),
            (Policy.DROPPED, Policy.INCOMPLETE),
            ALL,
        ):
            decision = decided(rows, fail_on)
            assert (decision.status, decision.exit_code) == expected(rows, fail_on), (rows, fail_on)


@pytest.mark.parametrize(
    ("rows", "status", "code"),
    [
        (["unchanged"], Status.PASS, 0),
        (["regressed", "incomplete", "too few", "new", "unchanged"], Status.REGRESSION, 1),
        (["incomplete", "too few", "new", "unchanged"], Status.INCOMPLETE, 3),
        (["too few", "new", "unchanged"], Status.INCONCLUSIVE, 0),
        (["other scorer", "new", "unchanged"], Status.INCONCLUSIVE, 0),
        (["new", "unchanged"], Status.NO_BASELINE, 0),
        (["new and bad", "unchanged"], Status.REGRESSION, 1),
        (["repointed", "withdrawn", "gone", "half covered", "as bad as before"], Status.PASS, 0),
        (["gone"], Status.INCOMPLETE, 3),
        (["withdrawn"], Status.INCONCLUSIVE, 0),
        (["incomplete and bad"], Status.INCOMPLETE, 3),
        ([], Status.INCOMPLETE, 3),
    ],
)
def test_the_default_policies_in_order_of_precedence(rows: list[str], status: Status, code: int) -> None:
    decision = decided([(name, True) for name in rows], DEFAULT_FAIL_ON)
    assert (decision.status, decision.exit_code) == (status, code)


def test_never_fails_nothing_and_still_says_what_is() -> None:
    for name in KINDS:
        assert decided([(name, True)], (Policy.NEVER,)).exit_code is ExitCode.PASSED
    decision = decided([("regressed", True)], (Policy.NEVER,))
    assert decision.status is Status.REGRESSION
    assert decision.reasons[0].startswith(f"regression (not in fail-on): s0, {ORIGINAL} → {CANDIDATE}: 40 tasks broke")


def test_a_regression_that_may_pass_does_not_hide_an_incomplete_run() -> None:
    decision = decided([("regressed", True), ("incomplete", True)], (Policy.INCOMPLETE,))
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.INCOMPLETE)


# Required, advisory, and a row's own policy


def test_an_advisory_row_is_shown_and_never_fails() -> None:
    decision = decided([("unchanged", True), ("regressed", False)], ALL)
    assert (decision.status, decision.exit_code) == (Status.PASS, ExitCode.PASSED)
    assert decision.rows[1].vs_baseline.status is RowStatus.REGRESSION
    assert decision.reasons == (
        "no significant regression against the baseline in 1 of 2 rows",
        f"regression (advisory): s1, {ORIGINAL} → {CANDIDATE}: 40 tasks broke, 0 recovered out of 60 (p < 0.001)",
    )


def test_an_advisory_row_without_a_result_does_not_hold_the_run_up() -> None:
    assert decided([("unchanged", True), ("incomplete", False)], DEFAULT_FAIL_ON).exit_code is ExitCode.PASSED
    assert decided([("unchanged", True), ("incomplete", True)], DEFAULT_FAIL_ON).exit_code is ExitCode.INCOMPLETE


def test_advisory_rows_do_not_raise_the_alarm_of_all_rows_together() -> None:
    # Five rows of b = 3 (p = 1/8 each) make b = 15, p = 2^-15 together.
    names = ["a", "b", "c", "d", "e"]
    heads = [measurement(PASS, "fff" + "p" * 57, suite=name) for name in names]
    bases = [measurement(PASS, PASS, suite=name, version="0.6.0") for name in names]
    calm = measurement(PASS, PASS, suite="required")
    heads, bases = [*heads, calm], [*bases, measurement(PASS, PASS, suite="required", version="0.6.0")]
    assert judged(heads, bases).exit_code is ExitCode.REGRESSION
    advisory = {head.key: RowPolicy(required=False) for head in heads[:5]}
    decision = judged(heads, bases, GatePolicy(rows=advisory))
    assert (decision.status, decision.exit_code) == (Status.PASS, ExitCode.PASSED)
    assert decision.reasons[1].startswith("regression (advisory): over all rows together 15 tasks broke, 0 recovered")


def test_an_advisory_row_that_regressed_does_not_hide_the_alarm_of_the_others() -> None:
    names = ["a", "b", "c", "d"]
    heads = [measurement(PASS, "fff" + "p" * 57, suite=name) for name in names]
    heads += [measurement(PASS, BROKE, suite="advisory")]
    bases = [measurement(PASS, PASS, suite=head.suite.name, version="0.6.0") for head in heads]
    policy = GatePolicy(rows={heads[4].key: RowPolicy(required=False)})
    decision = judged(heads, bases, policy)
    assert decision.exit_code is ExitCode.REGRESSION
    assert decision.reasons[0].startswith("regression: over all rows together 12 tasks broke, 0 recovered (p < 0.001)")
    assert (decision.pooled.rows, decision.pooled.runs) == (4, 4)
    assert (decision.pooled.b, decision.pooled.c) == (12, 0)


def test_advisory_rows_cost_the_others_no_alpha() -> None:
    # b = 6, p = 1/64. Three more rows with six changed tasks would leave it .05 / 4 < 1/64.
    mixed = "fff" + "p" * 57, "pppfff" + "p" * 54
    heads = [measurement(PASS, "f" * 6 + "p" * 54, suite="s0")]
    heads += [measurement(*mixed, suite=f"s{i}") for i in (1, 2, 3)]
    assert judged(heads, (), only(Policy.DOWNSIZE)).exit_code is ExitCode.PASSED
    advisory = {head.key: RowPolicy(required=False) for head in heads[1:]}
    policy = GatePolicy(fail_on=(Policy.DOWNSIZE,), rows=advisory)
    assert judged(heads, (), policy).exit_code is ExitCode.REGRESSION


def test_a_rows_own_policies_replace_the_gates() -> None:
    key = RowKey("s0", ORIGINAL, RECOMMENDED)
    row = row_of("as bad as before", "s0")
    for gate, own, code in (
        (DEFAULT_FAIL_ON, (Policy.DOWNSIZE,), 1),
        ((Policy.DOWNSIZE,), (Policy.REGRESSION,), 0),
        ((Policy.DOWNSIZE,), (Policy.NEVER,), 0),
        ((Policy.NEVER,), (Policy.DOWNSIZE,), 1),
    ):
        policy = GatePolicy(fail_on=gate, rows={key: RowPolicy(fail_on=own)})
        assert decide(Matrix(rows=(row,)), policy, baseline=LABEL).exit_code == code


def test_a_rows_own_margin_counts_against_the_baseline_too() -> None:
    # b = 2 of 60: the lower bound of the drop is about 10.1 pp with one, and the gate's margin is 15.
    head, base = measurement(PASS, "ff" + "p" * 58), measurement(PASS, PASS, version="0.6.0")
    gate = Rule(margin=0.15)
    assert judged([head], [base], GatePolicy(rule=gate)).rows[0].vs_baseline.status is RowStatus.NO_REGRESSION
    own = {head.key: RowPolicy(rule=Rule(margin=0.02))}
    (row,) = judged([head], [base], GatePolicy(rule=gate, rows=own)).rows
    assert row.vs_baseline.status is RowStatus.INSUFFICIENT_EVIDENCE
    assert "is not ruled out" in row.vs_baseline.reason


# Known regressions


@pytest.mark.parametrize("required", [True, False], ids=["required", "advisory"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_row_accepted_under_every_policy(name: str, required: bool) -> None:
    for fail_on in (*((policy,) for policy in (*ALL, Policy.NEVER)), DEFAULT_FAIL_ON, ALL):
        decision = decided([(name, required)], fail_on, [True])
        assert (decision.status, decision.exit_code) == expected([(name, required)], fail_on, [True]), fail_on
        assert any(
            "accepted until 2026-06-15: ticket 7" in said
            for said in (*decision.reasons, *decision.notes, str(decision.rows[0].accepted))
        )
        assert decision.rows[0].vs_baseline.status is KINDS[name].status


@pytest.mark.parametrize(("first", "second"), list(product(KINDS, repeat=2)))
def test_every_accepted_row_beside_every_other(first: str, second: str) -> None:
    rows = [(first, True), (second, True)]
    for fail_on in (DEFAULT_FAIL_ON, (Policy.NEVER,), (Policy.DOWNSIZE, Policy.DROPPED), ALL):
        decision = decided(rows, fail_on, [True, False])
        assert (decision.status, decision.exit_code) == expected(rows, fail_on, [True, False]), fail_on


def test_a_known_regression_is_shown_and_fails_nothing_through_its_last_day() -> None:
    decision = decided([("regressed", True), ("unchanged", True)], DEFAULT_FAIL_ON, [True])
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.PASSED)
    assert decision.reasons == (
        f"regression (accepted until 2026-06-15: ticket 7): s0, {ORIGINAL} → {CANDIDATE}: "
        "40 tasks broke, 0 recovered out of 60 (p < 0.001)",
    )
    assert [str(row.accepted) for row in decision.rows] == ["accepted until 2026-06-15: ticket 7", "None"]
    assert decision.rows[0].vs_baseline.status is RowStatus.REGRESSION


def test_an_acceptance_that_ended_fails_again_and_says_so() -> None:
    decision = decided([("regressed", True)], DEFAULT_FAIL_ON, [True], TODAY - timedelta(days=1))
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.reasons[0].endswith("(p < 0.001); its acceptance ended with 2026-06-14")
    assert decision.rows[0].accepted is None


def test_an_acceptance_does_not_hide_a_row_beside_it_or_another_trouble_of_its_own() -> None:
    assert decided([("regressed", True), ("regressed", True)], DEFAULT_FAIL_ON, [True]).exit_code == 1
    assert decided([("regressed", True), ("incomplete", True)], DEFAULT_FAIL_ON, [True]).exit_code == 3
    assert decided([("repointed", True)], (Policy.RECOMMENDATION,), [True]).exit_code == 1


def test_an_accepted_row_rings_no_alarm_of_all_rows_together() -> None:
    heads, bases = rows_of(12, 2, 2)
    assert judged(heads, bases).exit_code is ExitCode.REGRESSION
    matrix = build_matrix(heads, bases, Rule())
    policy = with_acceptances(GatePolicy(), [known("s0")], matrix.rows, TODAY)
    decision = decide(matrix, policy, baseline=LABEL)
    assert decision.exit_code is ExitCode.PASSED
    assert (decision.pooled.b, decision.pooled.c, decision.pooled.p) == (4, 0, 2**-4)


def test_an_accepted_row_costs_the_others_no_alpha_and_hides_no_alarm_of_theirs() -> None:
    # 1/32 is below .05 for a row alone, and not below .025, which it has beside another.
    heads, bases = rows_of(5, 40)
    matrix = build_matrix(heads, bases, Rule())
    policy = with_acceptances(GatePolicy(), [known("s1")], matrix.rows, TODAY)
    decision = decide(matrix, policy, baseline=LABEL)
    assert decision.exit_code is ExitCode.REGRESSION
    assert decision.reasons[0].startswith("regression: s0")
    heads, bases = rows_of(3, 3, 3, 40)  # 2^-9 together
    matrix = build_matrix(heads, bases, Rule())
    decision = decide(matrix, with_acceptances(GatePolicy(), [known("s3")], matrix.rows, TODAY), baseline=LABEL)
    assert decision.reasons[0].startswith("regression: over all rows together 9 tasks broke")


def test_an_acceptance_of_one_model_is_not_one_of_the_next_recommendation() -> None:
    head = measurement(PASS, BROKE, models=(ORIGINAL, SONNET))
    matrix = build_matrix([head], [measurement(PASS, PASS, version="0.6.0")], Rule())
    for candidate, code in ((CANDIDATE, 1), (SONNET, 0), (RECOMMENDED, 0)):
        policy = with_acceptances(GatePolicy(), [known("humaneval", candidate=candidate)], matrix.rows, TODAY)
        assert decide(matrix, policy, baseline=LABEL).exit_code == code
    policy = with_acceptances(GatePolicy(), [known("humaneval", candidate=CANDIDATE)], matrix.rows, TODAY)
    assert decide(matrix, policy, baseline=LABEL).notes == (
        f"accepted until 2026-06-15: ticket 7: humaneval, {ORIGINAL} → {CANDIDATE}: no row is like this",
    )


def test_of_two_acceptances_the_one_that_holds_counts() -> None:
    heads, bases = rows_of(12)
    matrix = build_matrix(heads, bases, Rule())
    for accepts in ([known("s0"), known("s0", date(2026, 1, 1))], [known("s0", date(2026, 1, 1)), known("s0")]):
        policy = with_acceptances(GatePolicy(), accepts, matrix.rows, TODAY)
        assert decide(matrix, policy, baseline=LABEL).exit_code is ExitCode.PASSED


# The corrected tests. One-sided p of b broken and none recovered is 2^-b.


def rows_of(*broken: int, n: int = 60) -> tuple[list[Artifact], list[Artifact]]:
    """One suite for each number of tasks that broke."""
    heads = [measurement("p" * n, "f" * b + "p" * (n - b), suite=f"s{i}") for i, b in enumerate(broken)]
    return heads, [measurement("p" * n, "p" * n, suite=head.suite.name, version="0.6.0") for head in heads]


def test_one_row_has_alpha_whole() -> None:
    (row,) = judged(*rows_of(5)).rows
    assert (row.vs_baseline.b, row.vs_baseline.c, row.vs_baseline.n) == (5, 0, 60)
    assert row.vs_baseline.p_value == 1 / 32  # below .05
    assert row.vs_baseline.status is RowStatus.REGRESSION
    assert row.vs_baseline.adjusted_significant
    (row,) = judged(*rows_of(4)).rows
    assert row.vs_baseline.status is RowStatus.INSUFFICIENT_EVIDENCE


def test_two_rows_share_alpha_with_the_pooled_test_and_say_so() -> None:
    # Half of .05 is for single rows, and 1/32 cannot reach it.
    decision = judged(*rows_of(5, 0))
    first = decision.rows[0].vs_baseline
    assert (decision.status, decision.exit_code) == (Status.INCONCLUSIVE, ExitCode.PASSED)
    assert (first.status, first.adjusted_significant) == (RowStatus.INSUFFICIENT_EVIDENCE, False)
    assert "(p = 0.031), significant alone, not once corrected for all rows" in first.reason
    assert judged(*rows_of(6, 0)).rows[0].vs_baseline.status is RowStatus.REGRESSION  # 1/64 < .025


def test_a_clear_row_that_is_significant_alone_says_so_too() -> None:
    # 11 broke and 3 recovered of 400: p = 470/16384, and a drop of 10 pp is ruled out all the same.
    n, p = 400, sum(comb(14, i) for i in range(4)) / 2**14
    assert 0.025 < p < 0.05
    base = measurement("p" * n, "fff" + "p" * (n - 3), suite="s0", version="0.6.0")
    head = measurement("p" * n, "ppp" + "f" * 11 + "p" * (n - 14), suite="s0")
    other = [measurement(PASS, PASS, suite="s1", version=v) for v in ("0.6.1", "0.6.0")]
    row = judged([head, other[0]], [base, other[1]]).rows[0]
    assert row.vs_baseline.p_value == pytest.approx(p)
    assert row.vs_baseline.status is RowStatus.NO_REGRESSION
    assert row.vs_baseline.reason.endswith("significant alone, not once corrected for all rows")


def test_rows_that_could_never_reject_cost_nothing() -> None:
    # Tarone: of seven rows only the first has enough changed tasks to reach .025.
    decision = judged(*rows_of(6, 1, 0, 0, 0, 0, 0))
    assert [row.vs_baseline.status is RowStatus.REGRESSION for row in decision.rows] == [True] + [False] * 6


def test_an_alarm_of_all_rows_together_is_said_first() -> None:
    decision = judged(*rows_of(3, 3, 3, 3))
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.reasons[0] == (
        "regression: over all rows together 12 tasks broke, 0 recovered (p < 0.001); no single row shows it"
    )
    assert (decision.pooled.b, decision.pooled.c, decision.pooled.p) == (12, 0, 2**-12)
    assert not any(row.vs_baseline.adjusted_significant for row in decision.rows)


def test_an_alarm_of_all_rows_together_fails_only_where_the_policy_is_on() -> None:
    decision = judged(*rows_of(3, 3, 3, 3), only(Policy.INCOMPLETE))
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.PASSED)
    assert decision.reasons[0].startswith("regression (not in fail-on): over all rows together 12 tasks broke")


def test_where_a_row_shows_it_the_pool_is_not_mentioned() -> None:
    decision = judged(*rows_of(20, 3, 3))
    assert len(decision.reasons) == 1
    assert "s0" in decision.reasons[0]


def test_statistical_policies_share_alpha() -> None:
    # The original fell with the candidate, so that only the baseline tells.
    def against(b: int, *policies: Policy) -> RowStatus:
        marks = "f" * b + "p" * (60 - b)
        head, base = measurement(marks, marks), measurement(PASS, PASS, version="0.6.0")
        return judged([head], [base], only(*policies)).rows[0].vs_baseline.status

    assert against(5, Policy.REGRESSION) is RowStatus.REGRESSION
    assert against(5, Policy.REGRESSION, Policy.DOWNSIZE) is not RowStatus.REGRESSION  # 1/32 > .05 / 2
    assert against(6, Policy.REGRESSION, Policy.DOWNSIZE) is RowStatus.REGRESSION  # 1/64 < .05 / 2
    assert against(6, Policy.REGRESSION, Policy.DOWNSIZE, Policy.SAVINGS) is RowStatus.REGRESSION  # and < .05 / 3
    assert (
        against(5, Policy.REGRESSION, Policy.DROPPED, Policy.INCOMPLETE) is RowStatus.REGRESSION
    )  # these test nothing


def test_a_stricter_alpha_is_the_gates() -> None:
    assert judged(*rows_of(5), GatePolicy(rule=Rule(alpha=0.03))).status is not Status.REGRESSION
    assert judged(*rows_of(6), GatePolicy(rule=Rule(alpha=0.03))).status is Status.REGRESSION


def test_a_candidate_shared_by_originals_counts_once() -> None:
    # Two originals and one run of the candidate with b = 5: one test, so alpha whole, and five tasks in all.
    marks = "f" * 5 + "p" * 55
    heads = [measurement(PASS, marks, models=(original, CANDIDATE)) for original in (ORIGINAL, "openai:o3")]
    bases = [measurement(PASS, PASS, models=(head.original_model, CANDIDATE), version="0.6.0") for head in heads]
    decision = judged(heads, bases)
    assert [row.vs_baseline.status for row in decision.rows] == [RowStatus.REGRESSION] * 2
    assert (decision.pooled.rows, decision.pooled.runs) == (2, 1)
    assert (decision.pooled.b, decision.pooled.c) == (5, 0)


def test_two_candidates_that_broke_the_same_tasks_are_two() -> None:
    marks = "f" * 5 + "p" * 55
    models = [(ORIGINAL, CANDIDATE), ("openai:o3", "openai:o4-mini")]
    heads = [measurement(PASS, marks, models=pair) for pair in models]
    bases = [measurement(PASS, PASS, models=pair, version="0.6.0") for pair in models]
    assert judged(heads, bases).pooled.b == 10


def test_an_incomplete_row_is_not_tested() -> None:
    heads, bases = rows_of(5)
    broken = measurement(PASS, "f" * 50 + "u" * 10, suite="half")
    decision = judged([*heads, broken], [*bases, measurement(PASS, PASS, suite="half", version="0.6.0")])
    assert [row.vs_baseline.status for row in decision.rows] == [RowStatus.INCOMPLETE, RowStatus.REGRESSION]
    assert decision.pooled.b == 5  # and the other row has alpha whole
    assert decision.exit_code is ExitCode.REGRESSION


def test_several_samples_are_tested_by_sign_flips() -> None:
    # Every one of six tasks lost one of three samples: 2^-6, though each still passes by majority.
    head = measurement("3" * 60, "2" * 6 + "3" * 54, samples=3)
    base = measurement("3" * 60, "3" * 60, samples=3, version="0.6.0")
    (row,) = judged([head], [base]).rows
    assert row.vs_baseline.p_value == 2**-6
    assert row.vs_baseline.status is RowStatus.REGRESSION
    # And three samples lost by one task are one task, not three.
    one = measurement("3" * 60, "0" + "3" * 59, samples=3)
    assert judged([one], [base]).rows[0].vs_baseline.p_value == 1 / 2


# A row without a baseline speaks by its own verdict


def test_the_first_run_fails_on_a_proven_regression() -> None:
    head = measurement("p" * 50, "f" * 17 + "p" * 33)
    decision = judged([head])
    assert (decision.status, decision.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert decision.reasons == (
        f"regression: humaneval, {ORIGINAL} → {CANDIDATE}: worse than the original, and no baseline to compare with: "
        "17 tasks broke, 0 recovered out of 50 (p < 0.001)",
    )
    assert decision.rows[0].vs_baseline.status is RowStatus.NO_BASELINE
    assert decision.rows[0].vs_baseline.reason == ""


def test_a_known_bad_candidate_passes_where_the_baseline_knew_it() -> None:
    assert decided([("as bad as before", True)], DEFAULT_FAIL_ON).exit_code is ExitCode.PASSED


def test_where_the_baseline_does_not_compare_the_reason_says_why() -> None:
    (reason,) = decided([("other scorer and bad", True)], DEFAULT_FAIL_ON).reasons
    assert "the baseline does not compare (scorer version differs: 1 → 2): 40 tasks broke" in reason


def test_over_a_baseline_of_a_newer_tokenjam_the_reason_says_so() -> None:
    head, newer = measurement(PASS, BROKE), measurement(PASS, PASS, version="9.9.9")
    matrix = build_matrix([head], [newer], Rule(), "0.6.1")
    (reason,) = decide(matrix, GatePolicy(), baseline=LABEL).reasons
    assert "worse than the original, and the baseline is of tokenjam 9.9.9, newer than this run's 0.6.1: 40" in reason


def test_an_own_verdict_that_correction_takes_back_says_so() -> None:
    # b = 6: two-sided p = 1/32 < .05, so its own verdict is a regression. Beside three compared rows it has .05 / 4.
    heads, bases = rows_of(0, 0, 0)
    new = measurement(PASS, "f" * 6 + "p" * 54, suite="new")
    assert judged([new]).exit_code is ExitCode.REGRESSION
    decision = judged([new, *heads], bases)
    assert (decision.status, decision.exit_code) == (Status.NO_BASELINE, ExitCode.PASSED)
    assert decision.rows[0].vs_baseline.reason == (
        "worse than the original: significant alone, not once corrected for all rows"
    )


def test_rows_without_a_baseline_are_not_pooled_and_waste_no_alpha() -> None:
    # Two new rows, b = 6 each: 1/64 is below .05 / 2 by Tarone-Holm over the two.
    heads, _ = rows_of(6, 6)
    decision = judged(heads)
    assert [("s0" in reason, "s1" in reason) for reason in decision.reasons] == [(True, False), (False, True)]
    assert decision.pooled.b == 0
    # And beside six rows in which nothing changed, which no test could reject, it has .05 whole.
    heads, _ = rows_of(6, 0, 0, 0, 0, 0, 0)
    assert judged(heads).exit_code is ExitCode.REGRESSION


def test_rows_with_and_without_a_baseline_share_alpha() -> None:
    # 1/32 is below .05 and above the half of it that is left beside one new row.
    heads, bases = rows_of(5)
    assert judged(heads, bases).status is Status.REGRESSION
    assert judged([*heads, measurement(PASS, PASS, suite="new")], bases).status is Status.INCONCLUSIVE


# Family-wise error


def test_false_alarms_stay_below_alpha_where_rows_of_different_policies_mix() -> None:
    """Every way in which 6, 7, 5 and 7 changed tasks can fall, weighted by its chance had nothing changed."""
    sizes = {"failing": 6, "failing too": 7, "advisory": 5, "new": 7}

    @cache
    def row(suite: str, b: int) -> Row:
        m = sizes[suite]
        before = "p" * b + "f" * (m - b) + "p" * 33
        after = "f" * b + "p" * (m - b) + "p" * 33
        if suite == "new":
            head = measurement(before, after, suite=suite)
            return build_row(head.key, head, None, Rule())
        head, base = measurement(after, after, suite=suite), measurement(before, before, suite=suite, version="0.6.0")
        return build_row(head.key, head, base, Rule())

    policy = GatePolicy(rows={RowKey("advisory", ORIGINAL, RECOMMENDED): RowPolicy(required=False)})
    alarm = 0.0
    for lost in product(*(range(m + 1) for m in sizes.values())):
        chance = 1.0
        for b, m in zip(lost, sizes.values(), strict=True):
            chance *= comb(m, b) / 2**m
        matrix = Matrix(rows=tuple(row(suite, b) for suite, b in zip(sizes, lost, strict=True)))
        alarm += chance * (decide(matrix, policy, baseline=LABEL).exit_code is ExitCode.REGRESSION)
    assert 0 < alarm <= 0.05


# Unscored tasks against the baseline


def test_many_unscored_pairs_prove_nothing_and_hide_nothing() -> None:
    # Each side is complete with 3 of 60 unscored; six of the sixty pairs are not.
    base = measurement(PASS, "u" * 3 + "p" * 57, version="0.6.0")
    (row,) = judged([measurement(PASS, "p" * 57 + "u" * 3)], [base]).rows
    assert row.vs_baseline.status is RowStatus.INSUFFICIENT_EVIDENCE
    assert row.vs_baseline.reason.startswith("6 of 60 paired tasks are unscored")
    assert row.vs_baseline.unscored == 6
    (row,) = judged([measurement(PASS, "ppp" + "f" * 20 + "p" * 34 + "u" * 3)], [base]).rows
    assert row.vs_baseline.status is RowStatus.REGRESSION


@pytest.mark.parametrize("now", [PASS, "f" * 30 + "p" * 30, "p" * 30 + "f" * 30])
@pytest.mark.parametrize(("before", "unscored"), [("u" * 30 + "p" * 30, 30), ("u" * 4 + "p" * 56, 4)])
def test_nothing_is_tested_against_an_incomplete_baseline(now: str, before: str, unscored: int) -> None:
    decision = judged([measurement(now, now)], [measurement(PASS, before, version="0.6.0")])
    (row,) = decision.rows
    assert row.vs_baseline.status is RowStatus.NOT_COMPARABLE
    assert row.vs_baseline.reason == f"the baseline is incomplete: {unscored} of 60 tasks unscored"
    assert (row.vs_baseline.b, row.vs_baseline.p_value) == (None, None)
    assert decision.status is Status.INCONCLUSIVE


def test_over_an_incomplete_baseline_the_rows_own_verdict_still_speaks() -> None:
    decision = judged([measurement(PASS, "f" * 30 + "p" * 30)], [measurement(PASS, "u" * 60, version="0.6.0")])
    assert decision.status is Status.REGRESSION
    assert decision.rows[0].vs_baseline.status is RowStatus.NOT_COMPARABLE
    assert "the baseline is incomplete: 60 of 60 tasks unscored" in decision.reasons[0]


def test_a_complete_baseline_counts_before_a_newer_incomplete_one() -> None:
    bases = [measurement(PASS, PASS, version="0.5.0"), measurement(PASS, "u" * 60, version="0.6.0")]
    (row,) = judged([measurement(PASS, PASS)], bases).rows
    assert (row.vs_baseline.status, row.vs_baseline.tokenjam_version) == (RowStatus.NO_REGRESSION, "0.5.0")


def test_the_reason_of_an_incomplete_row_is_told() -> None:
    (reason,) = decided([("incomplete", True)], DEFAULT_FAIL_ON).reasons
    assert reason.startswith(f"incomplete: s0, {ORIGINAL} → {CANDIDATE}: 10 of 60 tasks are unscored")


def test_parts_that_brought_no_result_make_the_run_incomplete() -> None:
    heads, bases = rows_of(0)
    failure = "incomplete: the baseline's tjbench_x.json is not an artifact: not JSON"
    decision = judged(heads, bases, failures=[failure])
    assert (decision.status, decision.exit_code, decision.reasons) == (
        Status.INCOMPLETE,
        ExitCode.INCOMPLETE,
        (failure,),
    )
    worse = judged(*rows_of(40), failures=[failure])
    assert (worse.status, worse.exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    assert worse.reasons[1] == failure
    assert judged(heads, bases, only(Policy.NEVER), failures=[failure]).exit_code is ExitCode.PASSED


# What is shown


def shown(head: Artifact, base: Artifact | None = None) -> DecisionRow:
    (row,) = judged([head], [base] if base else []).rows
    return row


def test_a_new_recommendation_is_paired_with_the_old_ones_baseline() -> None:
    head = measurement(PASS, BROKE, models=(ORIGINAL, SONNET))
    row = shown(head, measurement(PASS, PASS, version="0.6.0"))
    assert (row.vs_baseline.candidate_model, row.candidate_model) == (CANDIDATE, SONNET)
    assert (row.vs_baseline.status, row.vs_baseline.tokenjam_version) == (RowStatus.REGRESSION, "0.6.0")
    decision = judged([head], [measurement(PASS, PASS, version="0.6.0")], only(Policy.RECOMMENDATION))
    assert decision.reasons[0].endswith(f"the recommendation changed: {CANDIDATE} → {SONNET}")


def test_a_withdrawn_recommendation_is_a_row_with_its_reason() -> None:
    decision = decided([("withdrawn", True), ("unchanged", True)], (Policy.RECOMMENDATION,))
    assert decision.exit_code is ExitCode.REGRESSION
    assert decision.reasons == (
        f"recommendation: s0, {ORIGINAL} → {CANDIDATE}: the recommendation was withdrawn: no cheaper model",
    )
    row = decision.rows[0]
    assert (row.candidate_model, row.original_pass, row.vs_baseline.reason) == (CANDIDATE, None, "no cheaper model")


def test_a_dropped_row_says_how_much_is_left() -> None:
    (reason,) = decided([("half covered", True)], (Policy.DROPPED,)).reasons
    assert reason.endswith("only 67% of the baseline's tasks were measured again")
    assert (
        decided([("gone", True)], (Policy.DROPPED,))
        .reasons[0]
        .endswith("the baseline has this row and the run has not")
    )


def test_four_fifths_are_enough() -> None:
    base = measurement(PASS, PASS, version="0.6.0")
    for n, code in ((48, 0), (47, 1)):
        assert judged([measurement("p" * n, "p" * n)], [base], only(Policy.DROPPED)).exit_code == code


def test_a_row_shows_what_was_measured() -> None:
    head = measurement("p" * 58 + "fu", "fff" + "p" * 57, flags=(Flag.REUSED,))
    row = shown(head)
    assert (row.n_tasks, row.n_scored, row.n_unscored, row.original_pass, row.candidate_pass) == (60, 59, 1, 58, 56)
    assert row.broke == ("humaneval/0", "humaneval/1", "humaneval/2")
    assert row.causes == {"wrong_answer": 3}
    assert row.p_value == 2 * (1 + 4) / 2**4  # 3 broke and 1 recovered: two-sided


def test_a_changed_prompt_flags_the_row() -> None:
    row = shown(measurement(PASS, PASS, prompts="new"), measurement(PASS, PASS, version="0.6.0"))
    assert row.flags == (Flag.PROMPT_CHANGED,)
    assert len(row.vs_baseline.prompt_changed) == 60


def test_a_changed_prompt_is_not_said_to_be_compared_where_nothing_was() -> None:
    row = shown(measurement(PASS, PASS, prompts="new", scorer="2"), measurement(PASS, PASS, version="0.6.0"))
    assert (row.vs_baseline.status, row.flags, row.vs_baseline.prompt_changed) == (RowStatus.NOT_COMPARABLE, (), ())


def test_tasks_left_out_are_listed_even_where_nothing_compares() -> None:
    row = decided([("all checks new", True)], DEFAULT_FAIL_ON).rows[0]
    assert len(row.vs_baseline.rechecked) == 60
    assert (row.vs_baseline.b, row.vs_baseline.n, row.vs_baseline.prompt_changed) == (None, 0, ())


def test_the_all_clear_counts_what_was_compared() -> None:
    def said(*names: str) -> str:
        return decided([(name, True) for name in names], DEFAULT_FAIL_ON).reasons[0]

    assert said("unchanged") == "no significant regression against the baseline in 1 row"
    assert said("unchanged", "unchanged") == "no significant regression against the baseline in 2 rows"
    assert said("unchanged", "gone") == "no significant regression against the baseline in 1 of 2 rows"
    assert said("reused") == "nothing was measured anew, so nothing got worse"
    assert said("new") == "no baseline yet: nothing to compare with"
    assert said("too few") == "no regression found, and too little evidence to rule one out"
    assert said("gone") == "nothing was measured"


def test_a_decision_survives_json() -> None:
    decision = decided([(name, True) for name in KINDS], ALL)
    assert Decision.model_validate_json(decision.model_dump_json()) == decision


def test_mock_is_said() -> None:
    base = measurement(PASS, PASS, flags=(Flag.MOCK,), version="0.6.0")
    assert judged([measurement(PASS, PASS, flags=(Flag.MOCK,))], [base]).mock
