"""One row of the matrix as the decision shows it: what was measured, and its status against the baseline."""

from __future__ import annotations

from collections import Counter

from tjbench.compare.artifact import Artifact, Flag
from tjbench.compare.attribution import SAYS, Attribution, Moved, attribute
from tjbench.compare.changes import find_changes
from tjbench.compare.corrected import Corrected, stands_alone
from tjbench.compare.decision import Acceptance, AttributionP, DecisionRow, RowStatus, VsBaseline
from tjbench.compare.lacking import lacking
from tjbench.compare.matrix import Row
from tjbench.compare.pair import Change, Pair, measure_change, p_text, rank_broken, tasks
from tjbench.compare.policy import GatePolicy
from tjbench.compare.reused import reused_of
from tjbench.compare.stats import Verdict

_ENDED = {"budget": "the cap --max-cost-usd was reached", "deadline": "the deadline --deadline-minutes had passed"}
NOT_ONCE_CORRECTED = "significant alone, not once corrected for all rows"


def decided_row(row: Row, policy: GatePolicy, tests: Corrected) -> DecisionRow:
    """The head's numbers as they stand in its artifact, and how it compares."""
    versus = held_against(row, policy, tests)
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
    pairs = [Pair(task_id=t.task_id, before=t.original, after=t.candidate) for t in head.tasks]
    broke, surely = rank_broken([pair for pair in pairs if pair.scored], policy.rule_of(row.key).alpha)
    return DecisionRow(
        suite=row.key.suite,
        original_model=row.key.original,
        candidate_model=head.candidate_model,
        slot=row.key.slot,
        recommended_by=head.recommended_by,
        tokenjam_version=head.tokenjam_version,
        samples=head.sampling.samples,
        n_tasks=head.n_tasks,
        n_scored=head.n_scored,
        n_unscored=head.n_unscored,
        original_pass=head.original_pass,
        candidate_pass=head.candidate_pass,
        accuracy_delta_pp=head.accuracy_delta_pp,
        early_stop=head.early_stop,
        delta_ci_pp=None if head.stopped else head.stats.delta_ci_pp,
        headline_ci_pp=None if head.stopped else head.stats.headline_ci_pp,
        p_value=None if head.stopped else head.stats.mcnemar_p_value,
        original_cost_usd=head.original_cost_usd if head.costs_known else None,
        candidate_cost_usd=head.candidate_cost_usd if head.costs_known else None,
        cost_delta_pct=head.measured_cost_delta_pct,
        claimed_saving_pct=head.claimed_saving_pct,
        output_token_inflation=head.output_token_inflation,
        detectable_drop_pp=None if head.stopped else head.stats.detectable_drop_pp,
        verdict=head.verdict,
        verdict_reason=head.verdict_reason,
        broke=broke,
        broke_surely=surely,
        causes=dict(Counter(pair.after.cause for pair in pairs if pair.after.cause).most_common()),
        flags=tuple(dict.fromkeys(flags)),
        reused=reused_of(head),
        accepted=_accepted(row, policy, tests),
        changes=find_changes(row),
        lacking=lacking(head),
        vs_baseline=versus,
    )


def _accepted(row: Row, policy: GatePolicy, tests: Corrected) -> Acceptance | None:
    worse = tests.regressed | tests.worse_than_original | tests.downsized
    accept = policy.accepted.get(row.key) if row.key in worse else None
    return Acceptance(until=accept.until, reason=accept.reason) if accept else None


def held_against(row: Row, policy: GatePolicy, tests: Corrected) -> VsBaseline:
    """How the head compares with the baseline."""
    change, who = row.change, None
    if row.head is not None and row.head.incomplete:
        change, status, reason = None, RowStatus.INCOMPLETE, _why_incomplete(row.head)
    elif change is None:
        status, reason = RowStatus(row.standing.value), _untested(row, tests)
    else:
        own = policy.of(row.key).rule
        if own is not None:
            change = measure_change(row.overlap.candidate, own)
        who = attribute(row, policy.rule_of(row.key).alpha)
        status, reason = _tested(row, change, policy, tests)
        if status is RowStatus.REGRESSION and who and who.moved is Moved.TOGETHER:
            reason = f"{reason}; {SAYS[who.moved]}"
    base, overlap = row.baseline, row.overlap
    return VsBaseline(
        status=status,
        b=change.b if change else None,
        c=change.c if change else None,
        n=change.n if change else 0,
        p_value=change.p_one_sided if change else None,
        adjusted_significant=change is not None and row.key in tests.regressed,
        reason=reason,
        attribution=str(who) if who else None,
        attribution_p=_attribution_p(who),
        broke=change.broke if change else (),
        broke_surely=change.broke_surely if change else (),
        recovered=change.recovered if change else (),
        unscored=overlap.unscored if change else 0,
        prompt_changed=overlap.prompt_changed if change else (),
        added=overlap.added,
        removed=overlap.removed,
        rechecked=overlap.rechecked,
        tokenjam_version=base.tokenjam_version if base else None,
        candidate_model=base.candidate_model if base else None,
    )


def _attribution_p(who: Attribution | None) -> AttributionP | None:
    if who is None or who.candidate_p is None or who.original_p is None or who.difference_p is None:
        return None
    return AttributionP(candidate=who.candidate_p, original=who.original_p, difference=who.difference_p)


def _why_incomplete(head: Artifact) -> str:
    causes = {trial.cause for task in head.tasks for trial in (task.original, task.candidate)}
    ended = [words for cause, words in _ENDED.items() if cause in causes]
    return "; ".join([head.verdict_reason, *ended])


def _untested(row: Row, tests: Corrected) -> str:
    """Why nothing was tested, and where the row's own verdict alone did not suffice."""
    verdict = row.head.verdict if row.head and stands_alone(row) else None
    if verdict is not Verdict.SIGNIFICANT_REGRESSION or row.key in tests.worse_than_original:
        return row.why
    if row.key in tests.unconfirmed:
        return "; ".join(
            filter(None, (row.why, f"worse than the original, not confirmed: {tests.unconfirmed[row.key]}"))
        )
    return "; ".join(filter(None, (row.why, f"worse than the original: {NOT_ONCE_CORRECTED}")))


def _tested(row: Row, change: Change, policy: GatePolicy, tests: Corrected) -> tuple[RowStatus, str]:
    rule = policy.rule_of(row.key)
    counts = (
        f"{change.b} {tasks(change.b)} broke, {change.c} recovered out of {change.n} (p {p_text(change.p_one_sided)})"
    )
    if row.key in tests.regressed:
        return RowStatus.REGRESSION, counts
    if row.key in tests.unconfirmed:
        return RowStatus.INSUFFICIENT_EVIDENCE, f"{counts}; not confirmed: {tests.unconfirmed[row.key]}"
    if change.p_one_sided <= rule.alpha:
        counts = f"{counts}, {NOT_ONCE_CORRECTED}"
    paired = len(row.overlap.candidate)
    if paired and 100 * row.overlap.unscored / paired > rule.unscored_tolerance_pct:
        reason = f"{row.overlap.unscored} of {paired} paired tasks are unscored"
        return RowStatus.INSUFFICIENT_EVIDENCE, f"{reason}; {counts}"
    if change.verdict is Verdict.NO_SIGNIFICANT_REGRESSION:
        return RowStatus.NO_REGRESSION, counts
    return (
        RowStatus.INSUFFICIENT_EVIDENCE,
        f"{counts}; a drop up to {-100 * change.lower_bound:.1f} pp is not ruled out",
    )
