"""Two models, or two versions, paired by task: what broke, what recovered, and what that proves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tjbench.compare import stats
from tjbench.compare.stats import Verdict
from tjbench.pricing import Usage

UNKNOWN = (-1.0, 1.0)
"""The interval of a change that no task speaks for."""
REUSED_ARTIFACT = "artifact:"
"""How ``reused_from`` begins where an outcome was taken from a stored artifact and not measured anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One task on one model: of ``samples`` attempts ``passes`` passed and ``unscored`` could not be judged.

    ``usage`` sums all attempts; ``latency_s`` is their mean; ``cause`` and ``detail`` tell of the first non-pass.
    ``stated_cost_usd`` is what another tool says all attempts cost; ``None`` where ours follow from ``usage``.
    """

    passes: int
    samples: int
    unscored: int = 0
    usage: Usage
    latency_s: float | None = None
    cause: str | None = None
    detail: str = ""
    reused_from: str | None = None
    stated_cost_usd: float | None = None

    @property
    def scored(self) -> bool:
        """Whether the task counts: every one of its attempts was judged."""
        return self.unscored == 0

    @property
    def is_reused(self) -> bool:
        """Whether the outcome is a stored artifact's; one from an interrupted run's journal was measured now."""
        return (self.reused_from or "").startswith(REUSED_ARTIFACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same task before (original, or baseline) and after (candidate, or head)."""

    task_id: str
    before: Trial
    after: Trial

    @property
    def scored(self) -> bool:
        return self.before.scored and self.after.scored

    @property
    def change(self) -> int:
        """Passes gained; negative when the task broke."""
        return self.after.passes - self.before.passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a verdict needs: a drop of ``margin`` (proportion) ruled out, tested at ``alpha``, with at most
    ``unscored_tolerance`` (proportion) of the tasks unscored."""

    margin: float = 0.10
    alpha: float = 0.05
    unscored_tolerance: float = 0.05

    @property
    def unscored_tolerance_pct(self) -> float:
        """The tolerance as configured, so that the same share is tolerated wherever it is compared."""
        return round(100 * self.unscored_tolerance, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The paired statistics of ``n`` tasks that were scored on both sides; intervals and rates in proportions.

    ``b`` tasks lost passes and ``c`` gained some. With one sample a task ``p_two_sided`` is the exact McNemar test;
    with more it is the exact sign-flip test on passes gained, and the intervals come from task clusters. ``broke`` then
    begins with ``broke_surely``, the tasks that got worse beyond the chance of their own samples, the rest by their p.
    """

    n: int
    samples: int
    before_pass: float
    after_pass: float
    b: int
    c: int
    p_two_sided: float
    p_one_sided: float
    mid_p: float | None
    interval_wald: tuple[float, float]
    interval_score: tuple[float, float]
    lower_bound: float
    detectable_drop: float | None
    verdict: Verdict
    broke: tuple[str, ...]
    recovered: tuple[str, ...]
    broke_surely: tuple[str, ...] = ()

    @property
    def delta(self) -> float:
        """Change of the pass rate."""
        return (self.after_pass - self.before_pass) / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Original against candidate with the verdict and why."""

    change: Change
    n_tasks: int
    unscored_before: int
    unscored_after: int
    verdict: Verdict
    reason: str

    @property
    def n_unscored(self) -> int:
        return self.n_tasks - self.change.n


def measure_change(pairs: Sequence[Pair], rule: Rule) -> Change:
    """Statistics over the pairs that are scored on both sides; all pairs must have the same number of samples."""
    scored = [pair for pair in pairs if pair.scored]
    samples = scored[0].before.samples if scored else 1
    if any({pair.before.samples, pair.after.samples} != {samples} for pair in scored):
        raise ValueError("pairs hold different numbers of samples per task")
    n = len(scored)
    changes = [pair.change for pair in scored]
    b, c = sum(d < 0 for d in changes), sum(d > 0 for d in changes)
    broke, surely = rank_broken(scored, rule.alpha)
    test = _one_sample(b, c, n, rule) if samples == 1 else _several_samples(changes, samples, rule)
    return Change(
        n=n,
        samples=samples,
        before_pass=sum(pair.before.passes for pair in scored) / samples,
        after_pass=sum(pair.after.passes for pair in scored) / samples,
        b=b,
        c=c,
        p_two_sided=test.p_two_sided,
        p_one_sided=test.p_one_sided,
        mid_p=test.mid_p,
        interval_wald=test.interval_wald,
        interval_score=test.interval_score,
        lower_bound=test.lower_bound,
        detectable_drop=stats.detectable_drop(n, alpha=rule.alpha),
        verdict=test.verdict,
        broke=broke,
        recovered=tuple(pair.task_id for pair in scored if pair.change > 0),
        broke_surely=surely,
    )


def rank_broken(scored: Sequence[Pair], alpha: float = 0.05) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of the tasks that lost passes, and of those the ones that really broke.

    With several samples a task each is tested by `task_drop_p`, corrected over all tasks by Tarone-Holm (a task that
    could not have shown anything costs nothing); what really broke stands first, then the others by p. With one sample
    no single task proves anything, and the suite's order stays.
    """
    lost = [pair for pair in scored if pair.change < 0]
    if not lost or lost[0].before.samples == 1:
        return tuple(pair.task_id for pair in lost), ()
    counts = [(pair.before.passes, pair.after.passes, pair.before.samples) for pair in scored]
    p_values = [stats.task_drop_p(*count) for count in counts]
    flags = stats.tarone_reject(p_values, [stats.smallest_task_drop_p(*count) for count in counts], alpha)
    ranked = sorted(
        (p, place, pair.task_id, surely)
        for place, (p, pair, surely) in enumerate(zip(p_values, scored, flags, strict=True))
        if pair.change < 0
    )
    return tuple(entry[2] for entry in ranked), tuple(entry[2] for entry in ranked if entry[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    p_two_sided: float
    p_one_sided: float
    mid_p: float | None
    interval_wald: tuple[float, float]
    interval_score: tuple[float, float]
    lower_bound: float
    verdict: Verdict


def _one_sample(b: int, c: int, n: int, rule: Rule) -> _Test:
    return _Test(
        p_two_sided=stats.mcnemar_exact(b, c),
        p_one_sided=stats.mcnemar_one_sided(b, c),
        mid_p=stats.mcnemar_mid_p(b, c),
        interval_wald=stats.delta_wald(b, c, n) if n else UNKNOWN,
        interval_score=stats.delta_score(b, c, n) if n else UNKNOWN,
        lower_bound=stats.delta_lower_bound(b, c, n) if n else UNKNOWN[0],
        verdict=stats.verdict(b, c, n, margin=rule.margin, alpha=rule.alpha),
    )


def _several_samples(changes: Sequence[int], samples: int, rule: Rule) -> _Test:
    interval = stats.delta_interval_k(changes, samples=samples)
    return _Test(
        p_two_sided=stats.sign_flip_two_sided(changes),
        p_one_sided=stats.sign_flip_one_sided(changes),
        mid_p=None,
        interval_wald=interval,
        interval_score=interval,
        lower_bound=stats.lower_bound_k(changes, samples=samples),
        verdict=stats.verdict_k(changes, samples, margin=rule.margin, alpha=rule.alpha),
    )


def compare(pairs: Sequence[Pair], rule: Rule) -> Comparison:
    """Original against candidate over all tasks: the verdict rule, then what unscored tasks do to it."""
    change = measure_change(pairs, rule)
    before = sum(not pair.before.scored for pair in pairs)
    after = sum(not pair.after.scored for pair in pairs)
    verdict, reason = change.verdict, explain(change, rule)
    unscored = len(pairs) - change.n
    if pairs and 100 * unscored / len(pairs) > rule.unscored_tolerance_pct:
        verdict = Verdict.INSUFFICIENT_EVIDENCE
        reason = (
            f"{unscored} of {len(pairs)} tasks are unscored ({before} on the original, {after} on the candidate), "
            f"more than the tolerated {rule.unscored_tolerance_pct:g} %"
        )
    elif before != after or _lost(pair.before for pair in pairs) != _lost(pair.after for pair in pairs):
        worst = measure_change([_as_failures(pair) for pair in pairs], rule)
        if worst.verdict is not verdict:
            reason = (
                f"{verdict} without the {unscored} unscored tasks, {worst.verdict} with them counted as failures "
                f"({before} unscored on the original, {after} on the candidate)"
            )
            verdict = Verdict.INSUFFICIENT_EVIDENCE
    return Comparison(
        change=change,
        n_tasks=len(pairs),
        unscored_before=before,
        unscored_after=after,
        verdict=verdict,
        reason=reason,
    )


def explain(change: Change, rule: Rule) -> str:
    """The verdict in one sentence with its counts."""
    counts = f"{change.b} {tasks(change.b)} broke, {change.c} recovered out of {change.n}"
    if change.verdict is Verdict.SIGNIFICANT_REGRESSION:
        return f"{counts} (p {p_text(change.p_two_sided)})"
    if change.verdict is Verdict.NO_SIGNIFICANT_REGRESSION:
        return f"{counts}; a drop of {100 * rule.margin:g} pp or more is ruled out at 95 %"
    needed = max(stats.MIN_TASKS, stats.floor_tasks(rule.margin))
    if change.n < needed:
        return f"{counts}; at least {needed} scored tasks are needed to rule out a drop of {100 * rule.margin:g} pp"
    return f"{counts}; a drop up to {-100 * change.lower_bound:.1f} pp is not ruled out"


def tasks(count: int) -> str:
    """``task`` or ``tasks``."""
    return "task" if count == 1 else "tasks"


def p_text(p: float) -> str:
    """A p-value for a sentence: ``= 0.012`` or ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _lost(trials: Iterable[Trial]) -> int:
    return sum(trial.unscored for trial in trials)


def _as_failures(pair: Pair) -> Pair:
    return Pair(task_id=pair.task_id, before=_judged(pair.before), after=_judged(pair.after))


def _judged(trial: Trial) -> Trial:
    return Trial(passes=trial.passes, samples=trial.samples, usage=trial.usage)
