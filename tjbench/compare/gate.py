"""From a matrix to one decision: the corrected tests, the policies, their precedence, and sentences that say why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tjbench.compare.artifact import Artifact, Flag, RowKey
from tjbench.compare.decision import (
    BaselineLabel,
    Decision,
    DecisionRow,
    Pooled,
    RowStatus,
    Status,
    VsBaseline,
)
from tjbench.compare.matrix import COVERAGE_FLOOR, Matrix, Row, Standing
from tjbench.compare.pair import Pair, Rule, p_text, tasks
from tjbench.compare.savings import Dearer, find_dearer
from tjbench.compare.stats import FamilyResult, Verdict, family_test
from tjbench.config import DEFAULT_FAIL_ON, Policy
from tjbench.errors import ExitCode

STATISTICAL = (Policy.REGRESSION, Policy.DOWNSIZE, Policy.SAVINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """A proof's own policy. Without a result a ``required`` row makes the run incomplete; any other is advisory:
    shown, never failing. ``fail_on`` narrows the gate's for this row; ``rule`` replaces the gate's."""

    required: bool = True
    fail_on: tuple[Policy, ...] | None = None
    rule: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """When to fail, by which rule, and what single rows ask for differently."""

    fail_on: tuple[Policy, ...] = DEFAULT_FAIL_ON
    rule: Rule = field(default_factory=Rule)
    rows: dict[RowKey, RowPolicy] = field(default_factory=dict)

    def of(self, key: RowKey) -> RowPolicy:
        return self.rows.get(key, RowPolicy())

    def fails_on(self, key: RowKey, policy: Policy) -> bool:
        """Whether ``policy`` may fail the job because of this row."""
        row = self.of(key)
        enabled = self.fail_on if row.fail_on is None else row.fail_on
        return row.required and policy in enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fired:
    policy: Policy
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """Rows whose test rejects after correction, by key: against the baseline, and candidate against original.
    ``dearer`` is about cost, and empty unless a policy asks."""

    against_baseline: FamilyResult | None
    regressed: frozenset[RowKey]
    worse_than_original: frozenset[RowKey]
    downsized: frozenset[RowKey]
    dearer: Dearer


def decide(matrix: Matrix, policy: GatePolicy, *, baseline: BaselineLabel, failures: Sequence[str] = ()) -> Decision:
    """One decision for a matrix. ``failures`` are sentences about parts of the run that brought no result at all."""
    tests = _test(matrix.rows, policy)
    rows = tuple(_decided(row, policy, tests) for row in matrix.rows)
    fired = list(_fire(matrix.rows, rows, policy, tests, failures))
    incomplete = [*failures, *_incomplete(matrix.rows, rows, policy)]
    status = _status(rows, matrix.rows, policy, fired, incomplete)
    reasons = [hit.reason for hit in fired] + incomplete
    heads = [row.head for row in matrix.rows if row.head]
    pooled = tests.against_baseline
    return Decision(
        status=status,
        exit_code=_exit_code(status, policy, fired),
        reasons=tuple(dict.fromkeys(reasons)) or (_calm(status, rows),),
        notes=tuple(
            f"savings not judged: {key.suite}, {key.original}: {why}" for key, why in tests.dearer.unjudged.items()
        ),
        rows=rows,
        pooled=Pooled(b=pooled.pooled_b, c=pooled.pooled_c, p=pooled.pooled_p) if pooled else Pooled(),
        baseline=baseline,
        tokenjam_version=heads[0].tokenjam_version if heads else None,
        mock=any(head.mock for head in heads),
    )


def _test(rows: Sequence[Row], policy: GatePolicy) -> _Tests:
    """Family-wise alpha is divided over the enabled statistical policies, then over the two kinds of rows that the
    regression policy looks at, by their number."""
    enabled = [p for p in STATISTICAL if any(policy.fails_on(row.key, p) for row in rows)]
    alpha = policy.rule.alpha / max(1, len(enabled))
    comparable = [row for row in rows if row.change is not None]
    alone = [row for row in rows if _stands_alone(row)]
    n = max(1, len(comparable) + len(alone))
    own = {row.key: _own_changes(row.head) for row in rows if row.head is not None}
    pooled = _family({row.key: _changes(row.overlap.candidate) for row in comparable}, alpha * len(comparable) / n)
    solo = _family({row.key: own[row.key] for row in alone}, alpha * len(alone) / n)
    downsize = _family(own, alpha)
    priced = [row for row in comparable if policy.fails_on(row.key, Policy.SAVINGS)]
    return _Tests(
        against_baseline=pooled[0],
        regressed=pooled[1],
        worse_than_original=solo[1],
        downsized=downsize[1],
        dearer=find_dearer(priced, alpha),
    )


def _family(changes: dict[RowKey, tuple[int, ...]], alpha: float) -> tuple[FamilyResult | None, frozenset[RowKey]]:
    """Test all rows together; rows that hold the very same run (a candidate shared by originals) count once."""
    distinct = list(dict.fromkeys((key.suite, found) for key, found in changes.items()))
    if not distinct or alpha <= 0:
        return None, frozenset()
    result = family_test([found for _, found in distinct], alpha)
    rejected = {run for run, is_rejected in zip(distinct, result.rejected, strict=True) if is_rejected}
    return result, frozenset(key for key, found in changes.items() if (key.suite, found) in rejected)


def _stands_alone(row: Row) -> bool:
    return row.head is not None and row.standing in {Standing.NO_BASELINE, Standing.NOT_COMPARABLE}


def _changes(pairs: Iterable[Pair]) -> tuple[int, ...]:
    return tuple(pair.change for pair in pairs if pair.scored)


def _own_changes(head: Artifact) -> tuple[int, ...]:
    return _changes(Pair(task_id=t.task_id, before=t.original, after=t.candidate) for t in head.tasks)


def _decided(row: Row, policy: GatePolicy, tests: _Tests) -> DecisionRow:
    versus = _versus(row, policy, tests)
    head = row.head
    if head is None:
        gone = row.baseline
        return DecisionRow(
            suite=row.key.suite,
            original_model=row.key.original,
            candidate_model=gone.candidate_model if gone else None,
            slot=row.key.slot,
            vs_baseline=versus,
        )
    flags = head.flags + ((Flag.PROMPT_CHANGED,) if versus.prompt_changed else ())
    own = [(t.task_id, t.candidate) for t in head.tasks]
    return DecisionRow(
        suite=row.key.suite,
        original_model=row.key.original,
        candidate_model=head.candidate_model,
        slot=row.key.slot,
        recommended_by=head.recommended_by,
        tokenjam_version=head.tokenjam_version,
        n_tasks=head.n_tasks,
        n_scored=head.n_scored,
        n_unscored=head.n_unscored,
        original_pass=head.original_pass,
        candidate_pass=head.candidate_pass,
        accuracy_delta_pp=head.accuracy_delta_pp,
        delta_ci_pp=head.stats.delta_ci_pp,
        p_value=head.stats.mcnemar_p_value,
        original_cost_usd=head.original_cost_usd,
        candidate_cost_usd=head.candidate_cost_usd,
        cost_delta_pct=head.cost_delta_pct,
        claimed_saving_pct=head.claimed_saving_pct,
        output_token_inflation=head.output_token_inflation,
        detectable_drop_pp=head.stats.detectable_drop_pp,
        verdict=head.verdict,
        verdict_reason=head.verdict_reason,
        broke=tuple(t.task_id for t in head.tasks if _broke(Pair(task_id="", before=t.original, after=t.candidate))),
        causes=dict(Counter(trial.cause for _, trial in own if trial.cause).most_common()),
        flags=tuple(dict.fromkeys(flags)),
        vs_baseline=versus,
    )


def _broke(pair: Pair) -> bool:
    return pair.scored and pair.change < 0


def _versus(row: Row, policy: GatePolicy, tests: _Tests) -> VsBaseline:
    base = row.baseline
    version, candidate = (base.tokenjam_version, base.candidate_model) if base else (None, None)
    if row.head is not None and row.head.incomplete:
        return VsBaseline(
            status=RowStatus.INCOMPLETE,
            reason=row.head.verdict_reason,
            tokenjam_version=version,
            candidate_model=candidate,
        )
    change = row.change
    if change is None:
        return VsBaseline(
            status=RowStatus(row.standing.value), reason=row.why, tokenjam_version=version, candidate_model=candidate
        )
    status, reason = _tested(row, policy, tests)
    overlap = row.overlap
    return VsBaseline(
        status=status,
        b=change.b,
        c=change.c,
        n=change.n,
        p_value=change.p_one_sided,
        adjusted_significant=row.key in tests.regressed,
        reason=reason,
        broke=change.broke,
        recovered=change.recovered,
        unscored=overlap.unscored,
        prompt_changed=overlap.prompt_changed,
        added=overlap.added,
        removed=overlap.removed,
        rechecked=overlap.rechecked,
        tokenjam_version=version,
        candidate_model=candidate,
    )


def _tested(row: Row, policy: GatePolicy, tests: _Tests) -> tuple[RowStatus, str]:
    change, rule = row.change, policy.of(row.key).rule or policy.rule
    assert change is not None
    counts = (
        f"{change.b} {tasks(change.b)} broke, {change.c} recovered out of {change.n} (p {p_text(change.p_one_sided)})"
    )
    if row.key in tests.regressed:
        return RowStatus.REGRESSION, counts
    paired = len(row.overlap.candidate)
    if row.overlap.unscored > rule.unscored_tolerance * paired:
        return RowStatus.INSUFFICIENT_EVIDENCE, f"{row.overlap.unscored} of {paired} paired tasks are unscored"
    if change.verdict is Verdict.NO_SIGNIFICANT_REGRESSION:
        return RowStatus.NO_REGRESSION, counts
    if change.verdict is Verdict.SIGNIFICANT_REGRESSION:
        return RowStatus.INSUFFICIENT_EVIDENCE, f"{counts}, not significant once corrected for all rows"
    return (
        RowStatus.INSUFFICIENT_EVIDENCE,
        f"{counts}; a drop up to {-100 * change.lower_bound:.1f} pp is not ruled out",
    )


def _fire(
    rows: Sequence[Row], decided: Sequence[DecisionRow], policy: GatePolicy, tests: _Tests, failures: Sequence[str]
) -> Iterable[_Fired]:
    family = tests.against_baseline
    watched = any(policy.fails_on(row.key, Policy.REGRESSION) for row in rows if row.change is not None)
    if family and family.pooled_rejected and not tests.regressed and watched:
        counts = f"{family.pooled_b} {tasks(family.pooled_b)} broke, {family.pooled_c} recovered"
        yield _Fired(
            policy=Policy.REGRESSION,
            reason=f"regression over all rows together: {counts} (p {p_text(family.pooled_p)}); no single row shows it",
        )
    for row, shown in zip(rows, decided, strict=True):
        for hit, reason in _row_hits(row, shown, tests):
            if policy.fails_on(row.key, hit):
                yield _Fired(policy=hit, reason=f"{hit}: {_title(shown)}: {reason}")


def _row_hits(row: Row, shown: DecisionRow, tests: _Tests) -> Iterable[tuple[Policy, str]]:
    head, versus = row.head, shown.vs_baseline
    if versus.status is RowStatus.REGRESSION:
        yield Policy.REGRESSION, versus.reason
    significant = head is not None and head.verdict is Verdict.SIGNIFICANT_REGRESSION and not head.incomplete
    if significant and row.key in tests.worse_than_original:
        yield Policy.REGRESSION, f"worse than the original, and no baseline to compare with: {shown.verdict_reason}"
    if significant and row.key in tests.downsized:
        yield Policy.DOWNSIZE, f"the candidate is worse than the original: {shown.verdict_reason}"
    if rise := tests.dearer.rises.get(row.key):
        yield Policy.SAVINGS, str(rise)
    if row.repointed:
        yield Policy.RECOMMENDATION, f"the recommendation changed: {row.repointed[0]} → {row.repointed[1]}"
    if row.withdrawn:
        yield Policy.RECOMMENDATION, f"the recommendation was withdrawn: {row.why}"
    elif row.standing is Standing.NOT_RE_MEASURED and head is None:
        yield Policy.DROPPED, "the baseline has this row and the run has not"
    elif head is not None and row.change is not None and row.coverage < COVERAGE_FLOOR:
        yield Policy.DROPPED, f"only {row.coverage:.0%} of the baseline's tasks were measured again"
    if versus.status in {RowStatus.INSUFFICIENT_EVIDENCE, RowStatus.NOT_COMPARABLE}:
        yield Policy.INCONCLUSIVE, versus.reason
    if versus.status is RowStatus.NO_BASELINE:
        yield Policy.NO_BASELINE, "no baseline to compare with"


def _incomplete(rows: Sequence[Row], decided: Sequence[DecisionRow], policy: GatePolicy) -> list[str]:
    return [
        f"incomplete: {_title(shown)}: {shown.vs_baseline.reason}"
        for row, shown in zip(rows, decided, strict=True)
        if shown.vs_baseline.status is RowStatus.INCOMPLETE and policy.of(row.key).required
    ]


FAILING = frozenset(Policy) - {Policy.INCONCLUSIVE, Policy.NO_BASELINE, Policy.INCOMPLETE, Policy.NEVER}


def _status(
    decided: Sequence[DecisionRow],
    rows: Sequence[Row],
    policy: GatePolicy,
    fired: Sequence[_Fired],
    incomplete: Sequence[str],
) -> Status:
    """The highest-ranking thing that is true; an advisory row never makes it worse than ``inconclusive``."""
    required = [s for r, s in zip(rows, decided, strict=True) if policy.of(r.key).required]
    statuses = {shown.vs_baseline.status for shown in required}
    if any(hit.policy in FAILING for hit in fired) or RowStatus.REGRESSION in statuses:
        return Status.REGRESSION
    if incomplete:
        return Status.INCOMPLETE
    if not any(row.head for row in rows):
        return Status.INCONCLUSIVE if any(row.withdrawn for row in rows) else Status.INCOMPLETE
    if statuses & {RowStatus.INSUFFICIENT_EVIDENCE, RowStatus.NOT_COMPARABLE}:
        return Status.INCONCLUSIVE
    if RowStatus.NO_BASELINE in statuses:
        return Status.NO_BASELINE
    return Status.PASS


def _exit_code(status: Status, policy: GatePolicy, fired: Sequence[_Fired]) -> ExitCode:
    if fired:
        incomplete_first = status is Status.INCOMPLETE and Policy.INCOMPLETE in policy.fail_on
        return ExitCode.INCOMPLETE if incomplete_first else ExitCode.REGRESSION
    if status is Status.INCOMPLETE and Policy.INCOMPLETE in policy.fail_on:
        return ExitCode.INCOMPLETE
    return ExitCode.PASSED


def _calm(status: Status, decided: Sequence[DecisionRow]) -> str:
    count = f"{len(decided)} {'row' if len(decided) == 1 else 'rows'}"
    return {
        Status.PASS: f"no significant regression against the baseline in {count}",
        Status.NO_BASELINE: "no baseline yet: nothing to compare with",
        Status.INCONCLUSIVE: "no regression found, and too little evidence to rule one out",
        Status.INCOMPLETE: "nothing was measured",
        Status.REGRESSION: "a regression that no enabled policy fails on",
        Status.SKIPPED: "skipped",
    }[status]


def _title(row: DecisionRow) -> str:
    return f"{row.suite}, {row.original_model} → {row.candidate_model}"
