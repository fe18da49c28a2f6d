"""Why a row's dollars changed since its baseline: prices, recommendation and tokens, each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tjbench.compare.artifact import Artifact, TaskRecord
from tjbench.compare.matrix import Row, Standing
from tjbench.compare.pair import Trial
from tjbench.compare.savings import priced_rates, says_usage
from tjbench.pricing import Rates, Usage, cost_usd

PRICE_FIELDS = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One price of a model that both artifacts hold, in USD per million tokens."""

    model: str
    field: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """Mean tokens a task of one role's model; ``input`` counts what was cached too."""

    role: str
    input_before: float
    input_after: float
    output_before: float
    output_after: float

    @property
    def changed(self) -> bool:
        return (self.input_before, self.output_before) != (self.input_after, self.output_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingChange:
    """The pair's measured saving in percent, and what moved it in percentage points: the three effects add up to
    ``after`` minus ``before``."""

    before: float
    after: float
    price_effect: float
    recommendation_effect: float
    token_effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs between head and baseline beside accuracy, over ``n`` paired tasks. Without a ``saving`` ``why``
    says what is missing; ``claimed_*`` is what TokenJam's rates imply, in percent."""

    n: int = 0
    prices: tuple[PriceChange, ...] = ()
    tokens: tuple[TokenUse, ...] = ()
    saving: SavingChange | None = None
    claimed_before: float | None = None
    claimed_after: float | None = None
    why: str = ""


def find_changes(row: Row) -> Changes | None:
    """The causes of a row's change of cost; ``None`` where the row has no head or no baseline.

    With S(t, p) = 1 - candidate's cost / original's cost over the paired tasks, tokens t and prices p, 1 the baseline
    and 2 the head: price effect = S(t1, p2) - S(t1, p1); recommendation effect = S(t1, p2 of the head's candidate) -
    S(t1, p2); token effect = S(t2, p2) - the stage before. Where the head does not price the candidate that is no
    longer recommended, its old price stays, and the price effect is the original's alone. Stages are rounded to
    0.01 % before they are subtracted, so the effects as shown add up.
    """
    head, baseline = row.head, row.baseline
    if head is None or baseline is None:
        return None
    paired = _paired(row, head, baseline)
    counted = [(then, now) for then, now in paired if all(says_usage(trial) for trial in _trials(then, now))]
    obstacle = _obstacle(row, head, baseline, len(counted))
    stages = obstacle or _stages(counted, head, baseline)
    mock = head.mock or baseline.mock
    return Changes(
        n=0 if obstacle else len(counted),
        prices=() if mock else tuple(_prices(head, baseline)),
        tokens=() if obstacle else tuple(_token_use(counted)),
        saving=None if isinstance(stages, str) else _saving(stages),
        claimed_before=None if mock else baseline.claimed_saving_pct,
        claimed_after=None if mock else head.claimed_saving_pct,
        why=stages if isinstance(stages, str) else "",
    )


_Tasks = Sequence[tuple[TaskRecord, TaskRecord]]


def _trials(then: TaskRecord, now: TaskRecord) -> tuple[Trial, ...]:
    return then.original, then.candidate, now.original, now.candidate


def _paired(row: Row, head: Artifact, baseline: Artifact) -> list[tuple[TaskRecord, TaskRecord]]:
    shared = {pair.task_id for pair in row.overlap.candidate} | set(row.overlap.reused)
    old = {task.task_id: task for task in baseline.tasks}
    pairs = ((old[task.task_id], task) for task in head.tasks if task.task_id in shared)
    return [(then, now) for then, now in pairs if all(trial.scored for trial in _trials(then, now))]


def _obstacle(row: Row, head: Artifact, baseline: Artifact, n: int) -> str:
    if head.mock or baseline.mock:
        return "scripted models use no tokens"
    if row.standing is Standing.NOT_COMPARABLE:
        return row.why
    if head.costs_stated or baseline.costs_stated:
        return "the dollars are what another tool stated, not tokens at a price"
    return "" if n else "no paired task says on both sides what both models used"


def _prices(head: Artifact, baseline: Artifact) -> Iterator[PriceChange]:
    for model in head.rates:
        before, after = priced_rates(model, baseline), priced_rates(model, head)
        if before and after:
            for field in PRICE_FIELDS:
                old, new = getattr(before, field), getattr(after, field)
                if old != new:
                    yield PriceChange(model=model, field=field, before=old, after=new)


def _token_use(tasks: _Tasks) -> Iterator[TokenUse]:
    n = len(tasks)
    for role in ("candidate", "original"):
        then, now = (_used([getattr(pair[side], role) for pair in tasks]) for side in (0, 1))
        yield TokenUse(
            role=role,
            input_before=_read(then) / n,
            input_after=_read(now) / n,
            output_before=then.output / n,
            output_after=now.output / n,
        )


def _used(trials: Sequence[Trial]) -> Usage:
    return sum((trial.usage for trial in trials), Usage())


def _read(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _stages(tasks: _Tasks, head: Artifact, baseline: Artifact) -> tuple[float, float, float, float] | str:
    """The saving in percent: as it was, at new prices, with the new candidate, and as it is; or why not."""
    old, new = baseline.candidate_model, head.candidate_model
    wanted = {
        "original before": (baseline.original_model, (baseline,)),
        "candidate before": (old, (baseline,)),
        "original after": (head.original_model, (head,)),
        "candidate repriced": (old, (head, baseline) if old != new else (head,)),
        "candidate after": (new, (head,)),
    }
    rates: dict[str, Rates] = {}
    for name, (model, sources) in wanted.items():
        found = priced_rates(model, *sources)
        if found is None:
            return f"TokenJam has no price for {model}"
        rates[name] = found
    original = [_used([pair[side].original for pair in tasks]) for side in (0, 1)]
    candidate = [_used([pair[side].candidate for pair in tasks]) for side in (0, 1)]
    bases = [
        cost_usd(original[0], rates["original before"]),
        cost_usd(original[0], rates["original after"]),
        cost_usd(original[1], rates["original after"]),
    ]
    if not all(bases):
        return "the original cost nothing"
    return (
        _percent(cost_usd(candidate[0], rates["candidate before"]), bases[0]),
        _percent(cost_usd(candidate[0], rates["candidate repriced"]), bases[1]),
        _percent(cost_usd(candidate[0], rates["candidate after"]), bases[1]),
        _percent(cost_usd(candidate[1], rates["candidate after"]), bases[2]),
    )


def _percent(candidate: float, original: float) -> float:
    return round(100 * (1 - candidate / original), 2)


def _saving(stages: tuple[float, float, float, float]) -> SavingChange:
    before, repriced, repointed, after = stages
    return SavingChange(
        before=before,
        after=after,
        price_effect=round(repriced - before, 2),
        recommendation_effect=round(repointed - repriced, 2),
        token_effect=round(after - repointed, 2),
    )
