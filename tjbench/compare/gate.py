"""From a matrix to one decision: the corrected tests, the policies, their precedence, and sentences that say why."""

from __future__ import annotations

from collections.abc import Sequence

from tjbench.compare.accepted import acceptance_notes
from tjbench.compare.confirm import Again, broken_tasks, confirm, confirmation
from tjbench.compare.corrected import Corrected, correct
from tjbench.compare.decision import (
    BaselineLabel,
    Confirmation,
    Decision,
    DecisionRow,
    Pooled,
    RowStatus,
    Status,
)
from tjbench.compare.finding import FAILING, Finding, findings, title_of
from tjbench.compare.matrix import Matrix, Row
from tjbench.compare.policy import EXCUSED, GatePolicy, RowPolicy
from tjbench.compare.rowstatus import decided_row
from tjbench.config import Policy
from tjbench.errors import ExitCode

__all__ = ["GatePolicy", "RowPolicy", "decide"]


def decide(
    matrix: Matrix,
    policy: GatePolicy,
    *,
    baseline: BaselineLabel,
    failures: Sequence[str] = (),
    again: Again | None = None,
) -> Decision:
    """One decision for a matrix. ``failures`` are sentences about parts of the run that brought no result at all;
    ``again`` is what came of asking the broken tasks once more."""
    tests = correct(matrix.rows, policy)
    if again:
        tests = confirm(tests, matrix.rows, policy, again)
    asked = confirmation(tests, matrix.rows, broken_tasks(matrix.rows, policy), again) if again else None
    rows = tuple(decided_row(row, policy, tests) for row in matrix.rows)
    found = findings(matrix.rows, rows, policy, tests)
    incomplete = [*failures, *_incomplete(matrix.rows, rows, policy)]
    status = _status(rows, matrix.rows, policy, found, incomplete, doubted=tests.doubted)
    missing = [
        f"inconclusive: {title_of(shown)}: the baseline has this row and the run has not"
        for row, shown in zip(matrix.rows, rows, strict=True)
        if status is Status.INCONCLUSIVE and _missing(row, policy)
    ]
    heads = [row.head for row in matrix.rows if row.head]
    return Decision(
        status=status,
        exit_code=_exit_code(status, policy, found, incomplete),
        reasons=_reasons(status, rows, found, incomplete, missing, asked),
        notes=(
            *(f"savings not judged: {key.suite}, {key.original}: {why}" for key, why in tests.dearer.unjudged.items()),
            *_early_stop_note(tests, policy),
            *acceptance_notes(policy, frozenset(hit.key for hit in found if hit.key and hit.policy in EXCUSED)),
        ),
        rows=rows,
        pooled=_pooled(tests),
        baseline=baseline,
        confirmation=asked,
        tokenjam_version=heads[0].tokenjam_version if heads else None,
        mock=any(head.mock for head in heads),
    )


def _early_stop_note(tests: Corrected, policy: GatePolicy) -> tuple[str, ...]:
    if not tests.stoppable:
        return ()
    count = f"{tests.stoppable} {'row' if tests.stoppable == 1 else 'rows'}"
    half = f"{policy.rule.alpha / 2:g}"
    return (f"early stop: {count} could stop, at {half} in all; every other test shares the other {half}",)


def _pooled(tests: Corrected) -> Pooled:
    if not tests.families:
        return Pooled()
    first = tests.families[0]
    result = first.result
    return Pooled(rows=first.rows, runs=len(result.p_values), b=result.pooled_b, c=result.pooled_c, p=result.pooled_p)


def _incomplete(rows: Sequence[Row], decided: Sequence[DecisionRow], policy: GatePolicy) -> list[str]:
    return [
        f"incomplete: {title_of(shown)}: {shown.vs_baseline.reason}"
        for row, shown in zip(rows, decided, strict=True)
        if shown.vs_baseline.status is RowStatus.INCOMPLETE and policy.of(row.key).required
    ]


def _status(
    decided: Sequence[DecisionRow],
    rows: Sequence[Row],
    policy: GatePolicy,
    found: Sequence[Finding],
    incomplete: Sequence[str],
    *,
    doubted: bool,
) -> Status:
    """The highest-ranking thing that is true of a required row, accepted or not; where all rows are advisory,
    ``inconclusive`` at worst."""
    if any((hit.counts and hit.policy in FAILING) or (hit.is_regression and hit.required) for hit in found):
        return Status.REGRESSION
    if incomplete:
        return Status.INCOMPLETE
    if not any(row.head for row in rows):
        return Status.INCONCLUSIVE if any(row.withdrawn for row in rows) else Status.INCOMPLETE
    if doubted:
        return Status.INCONCLUSIVE
    required = [shown for row, shown in zip(rows, decided, strict=True) if policy.of(row.key).required]
    statuses = {shown.vs_baseline.status for shown in required or decided}
    if statuses - {RowStatus.NO_REGRESSION, RowStatus.NOT_RE_MEASURED, RowStatus.NO_BASELINE}:
        return Status.INCONCLUSIVE
    if any(_missing(row, policy) for row in rows):
        return Status.INCONCLUSIVE
    return Status.NO_BASELINE if RowStatus.NO_BASELINE in statuses else Status.PASS


def _missing(row: Row, policy: GatePolicy) -> bool:
    """Whether a pull request removed this required row's proof, which the baseline still has."""
    return row.head is None and row.key in policy.dropped and policy.of(row.key).required


def _exit_code(status: Status, policy: GatePolicy, found: Sequence[Finding], incomplete: Sequence[str]) -> ExitCode:
    fired = {hit.policy for hit in found if hit.fires}
    if fired & FAILING:
        return ExitCode.REGRESSION
    if (incomplete or status is Status.INCOMPLETE) and Policy.INCOMPLETE in policy.fail_on:
        return ExitCode.INCOMPLETE
    return ExitCode.REGRESSION if fired else ExitCode.PASSED


def _reasons(
    status: Status,
    decided: Sequence[DecisionRow],
    found: Sequence[Finding],
    incomplete: Sequence[str],
    missing: Sequence[str],
    asked: Confirmation | None,
) -> tuple[str, ...]:
    """What fired and what is incomplete, else why not; a regression is told even where it fails nothing."""
    fired = [str(hit) for hit in found if hit.fires]
    silent = [str(hit) for hit in found if (hit.is_regression or hit.accepted) and hit.required and not hit.fires]
    advisory = [str(hit) for hit in found if hit.is_regression and not hit.required]
    second = [f"{'confirm' if asked.confirmed else 'not confirmed'}: {asked.sentence}"] if asked else []
    told = [*fired, *silent, *second, *incomplete, *missing] or [_calm(status, decided)]
    return tuple(dict.fromkeys([*told, *advisory]))


def _calm(status: Status, decided: Sequence[DecisionRow]) -> str:
    if status is Status.NO_BASELINE:
        return _no_baseline(decided)
    if status is Status.INCONCLUSIVE:
        return "no regression found, and too little evidence to rule one out"
    return _all_clear(decided) if status is Status.PASS else "nothing was measured"


def _no_baseline(decided: Sequence[DecisionRow]) -> str:
    """A baseline of other rows is a configuration that differs, which a first run is not."""
    reasons = [row.vs_baseline.reason for row in decided if row.vs_baseline.status is RowStatus.NO_BASELINE]
    if newer := next(filter(None, reasons), ""):
        return f"nothing to compare with: {newer}"
    held = [row for row in decided if row.vs_baseline.status is RowStatus.NOT_RE_MEASURED]
    measured = [row for row in decided if row.vs_baseline.status is RowStatus.NO_BASELINE]
    if not (held and measured):
        return "no baseline yet: nothing to compare with"
    return (
        f"nothing to compare with: the baseline holds {title_of(held[0])}, and this run measured "
        f"{title_of(measured[0])}; record the baseline with the same suite, original and candidate"
    )


def _is_reused(row: DecisionRow) -> bool:
    return row.reused is not None and row.reused.original == row.reused.candidate == row.n_tasks


def _all_clear(decided: Sequence[DecisionRow]) -> str:
    clear = sum(row.vs_baseline.status is RowStatus.NO_REGRESSION for row in decided)
    if not clear:
        told = "nothing was measured anew, so nothing got worse"
        return f"{told}: every outcome is the baseline's, for $0" if all(map(_is_reused, decided)) else told
    count = f"{clear} of {len(decided)}" if clear < len(decided) else f"{clear}"
    return f"no significant regression against the baseline in {count} {'row' if len(decided) == 1 else 'rows'}"
