"""One (suite, pair) measurement as it lies on disk, and how its derived numbers follow from its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from math import ceil, floor, fsum, inf
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from tjbench.compare.pair import UNKNOWN as UNKNOWN_CHANGE
from tjbench.compare.pair import Comparison, Pair, Rule, Trial, compare, tasks
from tjbench.compare.stats import Verdict, pass_at_k, wilson_interval
from tjbench.config import SpecText
from tjbench.pricing import Rates, Usage, cost_usd, counts_cache_as_free

INFLATION_FLAG = 1.25
LEAST_EVIDENCE = 40.0
"""The E below which no row stops early: under no change a row ever reaches it in at most 1 of 40 runs."""
UNKNOWN = "unknown"
"""What a measurement of another tool does not say: a rate's source, a hash, a sandbox."""


class Flag(StrEnum):
    """What a reader must know before trusting a number."""

    MOCK = "mock"
    DEFAULT_RATES = "default_rates"
    UNKNOWN_CACHE_RATE = "unknown_cache_rate"
    JUDGE_SCORED = "judge_scored"
    SUSPECT_SCORER = "suspect_scorer"
    REUSED = "reused"
    OVERRIDES = "overrides"
    PROMPT_CHANGED = "prompt_changed"


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
MAX_TOKENS = 1 << 53
"""More tokens than this are no count but a broken file."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=False, allow_inf_nan=False)


class SuiteRecord(_Record):
    """Which tasks were asked, by content."""

    name: str
    prompts_revision: str
    checks_revision: str
    n_available: int


def _countable(used: Usage) -> bool:
    counts = (used.input, used.output, used.cache_read, used.cache_write)
    return min(counts) >= 0 and max(counts) <= MAX_TOKENS


class TaskRecord(_Record):
    """One task with both its trials. ``prompt_hash`` names exactly what was shown."""

    task_id: str
    check_hash: str
    prompt_hash: str
    original: Trial
    candidate: Trial

    @model_validator(mode="after")
    def _counts_add_up(self) -> Self:
        for trial in (self.original, self.candidate):
            if not 0 <= trial.passes <= trial.samples - trial.unscored <= trial.samples:
                raise ValueError(f"{trial.passes} passes and {trial.unscored} unscored of {trial.samples} samples")
            if not _countable(trial.usage) or (trial.latency_s or 0) < 0:
                raise ValueError(f"no usage or latency is like this: {trial.usage}, {trial.latency_s} s")
            if trial.stated_cost_usd is not None and not 0 <= trial.stated_cost_usd < inf:
                raise ValueError(f"no cost is like this: {trial.stated_cost_usd}")
        if self.original.samples != self.candidate.samples:
            raise ValueError("the two models have different numbers of samples")
        return self


class StatsRecord(_Record):
    """Statistics in percentage points; intervals are 95 %. With several samples a task ``pass_at_k`` holds for
    ``original`` and ``candidate`` the mean over tasks of the chance that one of k samples passes, by k."""

    original_ci_pp: tuple[float, float]
    candidate_ci_pp: tuple[float, float]
    delta_ci_pp: tuple[float, float]
    delta_ci_method: str
    delta_ci_score_pp: tuple[float, float]
    mcnemar_b: int
    mcnemar_c: int
    mcnemar_p_value: float
    mid_p: float | None
    lower_bound_pp: float
    detectable_drop_pp: float | None
    pass_at_k: dict[str, dict[str, float]] | None = None

    @property
    def headline_ci_pp(self) -> tuple[float, float]:
        """The interval to show: Wald's, unless it is a point or says other than the exact test; then the score one."""
        low, high = self.delta_ci_pp
        contradicts = (low > 0 or high < 0) != (self.mcnemar_p_value < 0.05)
        return self.delta_ci_score_pp if low == high or contradicts else self.delta_ci_pp


class SamplingRecord(_Record):
    """The parameters of every call as asked for; ``None`` leaves the provider's own, or was not recorded. ``samples``
    is k; ``sent`` holds, by model, what really went out: a model may refuse a parameter."""

    samples: Annotated[int, Field(ge=1, le=10_000)] = 1
    temperature: float | None = None
    max_tokens: int | None = 2048
    sent: dict[str, dict[str, float | int | str]] = {}


class ShardRecord(_Record):
    """Which part of a run an artifact is: every ``count``-th of the ``n_tasks`` tasks, from the ``index``-th (from 1).

    The revisions are the whole suite's. ``spent_usd`` is what the part's run spent on all of its rows.
    """

    index: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1)]
    n_tasks: Annotated[int, Field(ge=0)]
    prompts_revision: str
    checks_revision: str
    spent_usd: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _is_a_part(self) -> Self:
        if self.index > self.count:
            raise ValueError(f"{self.index} of {self.count} is no part")
        return self


class ReplayRecord(_Record):
    """A replay of recorded calls, ``judged_by`` a model or ``overlap``: a pass agrees with what was answered then.

    Without ``control`` the original was not asked again: it is the reference, and passes everything by definition.
    ``n_partial`` calls were sent with more than was recorded: the candidate is asked less than the original was.
    """

    control: bool
    judged_by: str
    n_partial: Annotated[int, Field(ge=0)] = 0


class EarlyStopRecord(_Record):
    """A row that could stop early: E of its tasks, how many of the planned ones those are, and the E at which it stops.

    Fewer than planned: it did, at the first of its tasks in seeded order where E sufficed.
    """

    e_value: Annotated[float, Field(ge=0)]
    n_used: Annotated[int, Field(ge=0)]
    n_planned: Annotated[int, Field(ge=0)]
    e_needed: Annotated[float, Field(ge=LEAST_EVIDENCE)]

    @property
    def stopped(self) -> bool:
        return self.n_used < self.n_planned

    @model_validator(mode="after")
    def _stopped_for_a_reason(self) -> Self:
        if self.n_used > self.n_planned:
            raise ValueError(f"{self.n_used} of {self.n_planned} tasks is no part")
        if self.stopped and self.e_value < self.e_needed:
            raise ValueError(f"stopped at E = {self.e_value:g}, and {self.e_needed:g} is needed")
        return self


class Artifact(_Record):
    """A measurement: identity, what was sent, what came out, and every task. Costs in USD."""

    schema_: Literal["tjbench/1"] = Field(default="tjbench/1", alias="schema")
    bench_version: str
    tokenjam_version: str
    created_at: Instant
    suite: SuiteRecord
    original_model: SpecText
    candidate_model: SpecText
    slot: str
    recommended_by: str
    sampling: SamplingRecord
    seed: int | None
    scorer_version: str
    sandbox_level: str
    judge: str | None
    mock: bool
    priced_with_defaults: bool
    flags: tuple[Flag, ...]
    rates: dict[str, Rates]
    n_tasks: int
    n_scored: int
    n_unscored: int
    original_pass: float
    candidate_pass: float
    original_cost_usd: float
    candidate_cost_usd: float
    accuracy_delta_pp: float
    cost_delta_pct: float | None
    claimed_saving_pct: float | None
    output_token_inflation: float | None
    verdict: Verdict
    verdict_reason: str
    margin_pp: Annotated[float, Field(gt=0, lt=100)]
    alpha: Annotated[float, Field(gt=0, lt=1)]
    unscored_tolerance_pct: Annotated[float, Field(ge=0, le=100)] = 5.0
    stats: StatsRecord
    commit: str | None
    shard: ShardRecord | None = None
    replay: ReplayRecord | None = None
    early_stop: EarlyStopRecord | None = None
    tasks: tuple[TaskRecord, ...]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for task in self.tasks:
            if task.original.samples != self.sampling.samples:
                raise ValueError(
                    f"task {task.task_id!r} has {task.original.samples} samples, the artifact {self.sampling.samples}"
                )
        for model, rates in self.rates.items():
            prices = (rates.input, rates.output, rates.cache_read, rates.cache_write)
            if min(prices) < 0:
                raise ValueError(f"no price of {model} is like this: {prices}")
        if self.stopped and self.verdict is not Verdict.SIGNIFICANT_REGRESSION:
            raise ValueError(f"stopped early, which only a regression does, and the verdict is {self.verdict}")
        return self

    @property
    def key(self) -> RowKey:
        return RowKey(self.suite.name, self.original_model, self.slot)

    @property
    def stopped(self) -> bool:
        """Whether it stopped early, so that it is no sample of a fixed size: its estimates lean away from zero, and its
        intervals and p-values do not hold."""
        return self.early_stop is not None and self.early_stop.stopped

    @property
    def uncontrolled(self) -> bool:
        """Whether the original is a reference and no sample, so that nothing is tested and nothing gated on it."""
        return self.replay is not None and not self.replay.control

    @property
    def incomplete(self) -> bool:
        """Whether too many tasks are unscored for the measurement to stand."""
        return too_many_unscored(self.n_unscored, self.n_tasks, self.unscored_tolerance_pct)

    @property
    def costs_stated(self) -> bool:
        """Whether its dollars are what another tool says, not tokens at ``rates``."""
        return any(t.stated_cost_usd is not None for task in self.tasks for t in (task.original, task.candidate))

    @property
    def costs_guessed(self) -> bool:
        """Whether a placeholder price is in its dollars, so that no change of them may be shown as measured."""
        return self.priced_with_defaults and (self.uncontrolled or not self.costs_stated)

    @property
    def measured_cost_delta_pct(self) -> float | None:
        """The change of cost where it was measured: none at a placeholder price."""
        return None if self.costs_guessed else self.cost_delta_pct

    @property
    def costs_known(self) -> bool:
        """Whether its dollars say anything: without a price whatever was used makes $0."""
        priced = any(rates.source != UNKNOWN for rates in self.rates.values())
        return priced or self.original_cost_usd > 0 or self.candidate_cost_usd > 0 or self.costs_stated


def counts_free_cache(records: Sequence[TaskRecord], rates: Mapping[str, Rates], original: str, candidate: str) -> bool:
    """Whether a model used cached tokens whose rate TokenJam does not know, so that its dollars are too low."""
    return any(
        counts_cache_as_free(record.original.usage, rates[original])
        or counts_cache_as_free(record.candidate.usage, rates[candidate])
        for record in records
    )


def too_many_unscored(n_unscored: int, n_tasks: int, tolerance_pct: float) -> bool:
    """Whether a measurement of ``n_tasks`` cannot stand, since more than ``tolerance_pct`` percent are unscored."""
    return n_tasks == 0 or 100 * n_unscored / n_tasks > tolerance_pct


@dataclass(frozen=True, slots=True, order=True)
class RowKey:
    """What is compared with what across time: ``slot`` is a pinned candidate or ``recommended``."""

    suite: str
    original: str
    slot: str


RECOMMENDED = "recommended"


def derive(
    records: Sequence[TaskRecord],
    rates: Mapping[str, Rates],
    original: str,
    candidate: str,
    rule: Rule,
    *,
    uncontrolled: bool = False,
) -> dict[str, object]:
    """Every number of an artifact that follows from its tasks, its rates and the verdict rule.

    ``uncontrolled``: the original is the reference of a replay, so the agreement rate is all that follows.
    """
    comparison = compare([Pair(task_id=r.task_id, before=r.original, after=r.candidate) for r in records], rule)
    change = comparison.change
    # A recorded call whose dollars nobody knows would make the original look cheaper than it was.
    known = [r for r in records if r.original.stated_cost_usd is not None] if uncontrolled else records
    costs = _costs(records, rates[original], rates[candidate])
    before, after = _costs(known, rates[original], rates[candidate])
    written = [sum(r.original.usage.output for r in known), sum(r.candidate.usage.output for r in known)]
    verdict, reason = agreement(comparison) if uncontrolled else (comparison.verdict, comparison.reason)
    return {
        "n_tasks": comparison.n_tasks,
        "n_scored": change.n,
        "n_unscored": comparison.n_unscored,
        "original_pass": change.before_pass,
        "candidate_pass": change.after_pass,
        "original_cost_usd": costs[0],
        "candidate_cost_usd": costs[1],
        "accuracy_delta_pp": round(100 * change.delta, 4),
        "cost_delta_pct": round(100 * (after / before - 1), 4) if before > 0 else None,
        "output_token_inflation": round(written[1] / written[0], 4) if written[0] else None,
        "verdict": verdict,
        "verdict_reason": reason,
        "margin_pp": round(100 * rule.margin, 6),
        "alpha": rule.alpha,
        "unscored_tolerance_pct": rule.unscored_tolerance_pct,
        "stats": _untested(comparison)
        if uncontrolled
        else _stats(comparison, [r for r in records if r.original.scored and r.candidate.scored]),
    }


def agreement(comparison: Comparison) -> tuple[Verdict, str]:
    """The verdict on a candidate that is held against recorded answers alone, and its agreement rate in words."""
    change, unscored = comparison.change, comparison.n_unscored
    low, high = _pass_interval(change.after_pass, change.n)
    passed = f"{change.after_pass:g} of {change.n} {tasks(change.n)} agree with the recorded answers"
    interval = f" ({100 * low:.1f} to {100 * high:.1f} % at 95 %)" if change.n else ""
    lost = f"; {unscored} of {comparison.n_tasks} are unscored" if unscored else ""
    return (
        Verdict.INSUFFICIENT_EVIDENCE,
        f"no control: {passed}{interval}{lost}; how far the original agrees with itself was not measured",
    )


def _costs(records: Sequence[TaskRecord], original: Rates, candidate: Rates) -> tuple[float, float]:
    return _dollars([r.original for r in records], original), _dollars([r.candidate for r in records], candidate)


def _dollars(trials: Sequence[Trial], rates: Rates) -> float:
    """What ``trials`` cost: as stated, where another tool did so, else what they used at ``rates``."""
    used = sum((trial.usage for trial in trials), Usage())
    stated = [trial.stated_cost_usd for trial in trials if trial.stated_cost_usd is not None]
    return round(fsum(stated), 8) if stated else cost_usd(used, rates)


def _stats(comparison: Comparison, scored: Sequence[TaskRecord]) -> StatsRecord:
    change = comparison.change
    return StatsRecord(
        original_ci_pp=_pp(_pass_interval(change.before_pass, change.n)),
        candidate_ci_pp=_pp(_pass_interval(change.after_pass, change.n)),
        delta_ci_pp=_pp(change.interval_wald),
        delta_ci_method="wald" if change.samples == 1 else "task_cluster_t",
        delta_ci_score_pp=_pp(change.interval_score),
        mcnemar_b=change.b,
        mcnemar_c=change.c,
        mcnemar_p_value=change.p_two_sided,
        mid_p=change.mid_p,
        lower_bound_pp=round(100 * change.lower_bound, 4),
        detectable_drop_pp=None if change.detectable_drop is None else round(100 * change.detectable_drop, 4),
        pass_at_k=_pass_at_k(scored, change.samples) if change.samples > 1 else None,
    )


def _untested(comparison: Comparison) -> StatsRecord:
    """The agreement rate with its interval; of a reference nothing is tested."""
    change, nothing = comparison.change, _pp(UNKNOWN_CHANGE)
    return StatsRecord(
        original_ci_pp=_pp(_pass_interval(change.before_pass, change.n)),
        candidate_ci_pp=_pp(_pass_interval(change.after_pass, change.n)),
        delta_ci_pp=nothing,
        delta_ci_method="none",
        delta_ci_score_pp=nothing,
        mcnemar_b=0,
        mcnemar_c=0,
        mcnemar_p_value=1.0,
        mid_p=None,
        lower_bound_pp=nothing[0],
        detectable_drop_pp=None,
    )


def _pass_interval(passed: float, n: int) -> tuple[float, float]:
    """Wilson's interval with the task as the unit: samples of one task are alike and add less than as many tasks."""
    return wilson_interval(floor(passed), n)[0], wilson_interval(ceil(passed), n)[1]


def _pass_at_k(scored: Sequence[TaskRecord], samples: int) -> dict[str, dict[str, float]]:
    sides = {"original": [r.original for r in scored], "candidate": [r.candidate for r in scored]}
    return {
        side: {
            str(k): round(fsum(pass_at_k(samples, trial.passes, k) for trial in trials) / len(trials), 6)
            for k in sorted({1, samples} | {k for k in (10, 100) if k < samples})
        }
        for side, trials in sides.items()
        if trials
    }


def _pp(interval: tuple[float, float]) -> tuple[float, float]:
    return round(100 * interval[0], 4), round(100 * interval[1], 4)
