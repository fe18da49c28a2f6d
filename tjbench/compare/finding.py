"""What the policies are about: every finding in a matrix, and whether it fails the job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tjbench.compare.accepted import accepted_text
from tjbench.compare.artifact import RowKey
from tjbench.compare.corrected import Corrected
from tjbench.compare.decision import DecisionRow, RowStatus
from tjbench.compare.matrix import COVERAGE_FLOOR, Row
from tjbench.compare.pair import p_text, tasks
from tjbench.compare.policy import EXCUSED, GatePolicy
from tjbench.compare.stats import Verdict
from tjbench.config import Accept, Policy

FAILING = frozenset(Policy) - {Policy.INCONCLUSIVE, Policy.NO_BASELINE, Policy.INCOMPLETE, Policy.NEVER}
"""Policies that make the decision a regression when they fire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something a policy is about; it ``fires`` where the policy is enabled for a required row, unless the row's
    regression is ``accepted``. ``expired`` is an acceptance that no longer holds."""

    policy: Policy
    reason: str
    fires: bool
    required: bool
    key: RowKey | None = None
    accepted: Accept | None = None
    expired: Accept | None = None

    @property
    def counts(self) -> bool:
        """Whether it decides the status: what is accepted fails nothing, and is no less true."""
        return self.fires or (self.required and self.accepted is not None)

    @property
    def is_regression(self) -> bool:
        return self.policy is Policy.REGRESSION

    def __str__(self) -> str:
        if self.accepted:
            return f"{self.policy} ({accepted_text(self.accepted)}): {self.reason}"
        if self.fires:
            ended = f"; its acceptance ended with {self.expired.until}" if self.expired else ""
            return f"{self.policy}: {self.reason}{ended}"
        return f"{self.policy} ({'not in fail-on' if self.required else 'advisory'}): {self.reason}"


def findings(
    rows: Sequence[Row], decided: Sequence[DecisionRow], policy: GatePolicy, tests: Corrected
) -> list[Finding]:
    """Of all rows together first, then row by row."""
    return [*_pooled_findings(tests), *_doubted_pool(tests, policy), *_row_findings(rows, decided, policy, tests)]


def _pooled_findings(tests: Corrected) -> Iterable[Finding]:
    for family in tests.families:
        if family.pooled_only:
            result = family.result
            counts = f"{result.pooled_b} {tasks(result.pooled_b)} broke, {result.pooled_c} recovered"
            yield Finding(
                policy=Policy.REGRESSION,
                reason=f"over all rows together {counts} (p {p_text(result.pooled_p)}); no single row shows it",
                fires=family.failing,
                required=family.required,
            )


def _doubted_pool(tests: Corrected, policy: GatePolicy) -> Iterable[Finding]:
    if tests.doubted and not tests.unconfirmed:
        yield Finding(
            policy=Policy.INCONCLUSIVE,
            reason="the alarm of all rows together was not confirmed",
            fires=Policy.INCONCLUSIVE in policy.fail_on,
            required=True,
        )


def _row_findings(
    rows: Sequence[Row], decided: Sequence[DecisionRow], policy: GatePolicy, tests: Corrected
) -> Iterable[Finding]:
    for row, shown in zip(rows, decided, strict=True):
        for hit, reason in _hits(row, shown, tests):
            yield Finding(
                policy=hit,
                key=row.key,
                reason=f"{title_of(shown)}: {reason}",
                fires=policy.fails_on(row.key, hit),
                required=policy.of(row.key).required,
                accepted=policy.excuse(row.key, hit) if hit is Policy.REGRESSION or policy.asks(row.key, hit) else None,
                expired=policy.expired.get(row.key) if hit in EXCUSED else None,
            )


def _hits(row: Row, shown: DecisionRow, tests: Corrected) -> Iterable[tuple[Policy, str]]:
    head, versus = row.head, shown.vs_baseline
    if versus.status is RowStatus.REGRESSION:
        yield Policy.REGRESSION, versus.reason
    significant = head is not None and head.verdict is Verdict.SIGNIFICANT_REGRESSION
    if significant and row.key in tests.worse_than_original:
        nothing = row.why or "no baseline to compare with"
        why = f"the baseline does not compare ({row.why})" if row.baseline else nothing
        yield Policy.REGRESSION, f"worse than the original, and {why}: {shown.verdict_reason}"
    if significant and row.key in tests.downsized:
        yield Policy.DOWNSIZE, f"the candidate is worse than the original: {shown.verdict_reason}"
    if rise := tests.dearer.rises.get(row.key):
        yield Policy.SAVINGS, str(rise)
    if row.repointed:
        yield Policy.RECOMMENDATION, f"the recommendation changed: {row.repointed[0]} → {row.repointed[1]}"
    if row.withdrawn:
        yield Policy.RECOMMENDATION, f"the recommendation was withdrawn: {row.why}"
    elif head is None:
        yield Policy.DROPPED, "the baseline has this row and the run has not"
    elif row.coverage < COVERAGE_FLOOR:
        yield Policy.DROPPED, f"only {row.coverage:.0%} of the baseline's tasks were measured again"
    if versus.status in {RowStatus.INSUFFICIENT_EVIDENCE, RowStatus.NOT_COMPARABLE}:
        yield Policy.INCONCLUSIVE, versus.reason
    if row.key in tests.unconfirmed and versus.status is not RowStatus.INSUFFICIENT_EVIDENCE:
        yield Policy.INCONCLUSIVE, f"worse than the original, not confirmed: {tests.unconfirmed[row.key]}"
    if versus.status is RowStatus.NO_BASELINE:
        yield Policy.NO_BASELINE, versus.reason or "no baseline to compare with"


def title_of(row: DecisionRow) -> str:
    """What a sentence calls a row."""
    return f"{row.suite}, {row.original_model} → {row.candidate_model}"
