"""`tjb plan`: how many tasks, and dollars, a question about a pair needs, from what a stored measurement of it saw."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil, fsum
from pathlib import Path
from typing import TextIO

from tjbench.compare.artifact import UNKNOWN, Artifact
from tjbench.compare.distributions import binomial_upper_limit, normal_quantile
from tjbench.compare.matrix import newest_per_key
from tjbench.compare.pair import Trial
from tjbench.compare.power import FLIP_RATE
from tjbench.compare.stats import MIN_TASKS, tasks_needed, tasks_to_rule_out
from tjbench.errors import ExitCode, UsageError
from tjbench.pricing import Rates, cost_usd
from tjbench.report.units import counted, dollars, number, percent
from tjbench.store.artifacts import load_path

POWER = 0.8
FEW_FLIPS = 6
"""Fewer differing tasks than the exact test needs to show anything are too few to take a flip rate from."""
EXACT_TASKS = 2_000
"""Above this many tasks, those that rule a drop out are counted by the normal approximation (within 2 %)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRate:
    """The share of tasks that come out differently on the two models, as used for planning, and where it is from."""

    value: float
    broke: float
    recovered: float
    n_scored: int
    floored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    """Dollars of one attempt at one task on each model."""

    original_usd: float
    candidate_usd: float
    guessed: bool

    @property
    def both_usd(self) -> float:
        return self.original_usd + self.candidate_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Tasks that a question needs four times out of five, and what they cost on both models."""

    tasks: int
    approximate: bool
    original_usd: float | None
    candidate_usd: float | None
    total_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one pair on one suite needs, at one sample a task. ``rule_out``: to get `no_significant_regression` at a
    margin of ``drop_pp`` when nothing changed; ``detect``: to get `significant_regression` when the candidate is
    ``drop_pp`` worse."""

    suite: str
    n_available: int
    original_model: str
    candidate_model: str
    tokenjam_version: str
    drop_pp: float
    alpha: float
    power: float
    flip_rate: FlipRate
    task_cost: TaskCost | None
    rule_out: Need
    detect: Need
    notes: tuple[str, ...]


def plan_of(artifact: Artifact, drop_pp: float | None = None) -> Plan:
    """Plan the next measurement of an artifact's pair; ``drop_pp`` is the artifact's own margin unless given.

    Raises ``UsageError`` where the artifact has no scored task.
    """
    drop = (artifact.margin_pp if drop_pp is None else drop_pp) / 100
    flips = flip_rate_of(artifact)
    # A drop and the flips beside it are shares of the same tasks.
    flip_rate = min(flips.value, 1 - drop)
    cost = task_cost_of(artifact)
    out, approximate = _tasks_to_rule_out(drop, flip_rate)
    found = tasks_needed(drop, flip_rate, artifact.alpha, POWER)
    return Plan(
        suite=artifact.suite.name,
        n_available=artifact.suite.n_available,
        original_model=artifact.original_model,
        candidate_model=artifact.candidate_model,
        tokenjam_version=artifact.tokenjam_version,
        drop_pp=round(100 * drop, 6),
        alpha=artifact.alpha,
        power=POWER,
        flip_rate=flips,
        task_cost=cost,
        rule_out=_need(out, cost, approximate=approximate),
        detect=_need(found, cost, approximate=False),
        notes=tuple(_notes(artifact, cost)),
    )


def flip_rate_of(artifact: Artifact) -> FlipRate:
    """The discordant share. With several samples a task it is that of one sample a task, in expectation.

    Where too few tasks differ, no less is taken than is usual for reruns (5 %), unless the tasks rule even that out:
    then the Clopper-Pearson upper limit of the share.
    """
    scored = [task for task in artifact.tasks if task.original.scored and task.candidate.scored]
    if not scored:
        raise UsageError(
            "nothing can be planned from this artifact", why=f"none of its {artifact.n_tasks} tasks is scored"
        )
    rates = [(t.original.passes / t.original.samples, t.candidate.passes / t.candidate.samples) for t in scored]
    broke = round(fsum(before * (1 - after) for before, after in rates), 6)
    recovered = round(fsum(after * (1 - before) for before, after in rates), 6)
    n, differ = len(scored), broke + recovered
    share, floored = differ / n, False
    if differ < FEW_FLIPS:
        floor = min(FLIP_RATE, binomial_upper_limit(min(n, ceil(differ)), n, 0.05))
        share, floored = max(share, floor), floor > share
    return FlipRate(value=round(share, 6), broke=broke, recovered=recovered, n_scored=n, floored=floored)


def task_cost_of(artifact: Artifact) -> TaskCost | None:
    """Mean dollars of one attempt at one task on each model, at the rates in the artifact or as another tool stated
    them; ``None`` where the artifact does not tell."""
    sides = (
        (artifact.original_model, [task.original for task in artifact.tasks], artifact.original_cost_usd),
        (artifact.candidate_model, [task.candidate for task in artifact.tasks], artifact.candidate_cost_usd),
    )
    found = [_attempt_usd(trials, artifact.rates.get(model), total) for model, trials, total in sides]
    if found[0] is None or found[1] is None:
        return None
    guessed = artifact.priced_with_defaults and not artifact.costs_stated
    return TaskCost(original_usd=round(found[0], 10), candidate_usd=round(found[1], 10), guessed=guessed)


def _attempt_usd(trials: Sequence[Trial], rates: Rates | None, total_usd: float) -> float | None:
    """Over the trials that tell what they used; a failed call tells nothing and cost nothing that recurs."""
    stated = [(t.stated_cost_usd, t.samples) for t in trials if t.stated_cost_usd is not None]
    if stated:
        return fsum(cost for cost, _ in stated) / sum(samples for _, samples in stated)
    used = [t for t in trials if t.usage.input + t.usage.output + t.usage.cache_read + t.usage.cache_write]
    if used and rates and rates.source != UNKNOWN:
        return fsum(cost_usd(t.usage, rates) for t in used) / sum(t.samples for t in used)
    return total_usd / sum(t.samples for t in trials) if total_usd > 0 else None


def _tasks_to_rule_out(drop: float, flip_rate: float) -> tuple[int, bool]:
    approximate = ceil(flip_rate * ((normal_quantile(0.95) + normal_quantile(POWER)) / drop) ** 2)
    if approximate > EXACT_TASKS:
        return approximate, True
    return tasks_to_rule_out(drop, flip_rate, POWER), False


def _need(tasks: int, cost: TaskCost | None, *, approximate: bool) -> Need:
    count = max(MIN_TASKS, tasks)
    return Need(
        tasks=count,
        approximate=approximate,
        original_usd=round(count * cost.original_usd, 6) if cost else None,
        candidate_usd=round(count * cost.candidate_usd, 6) if cost else None,
        total_usd=round(count * cost.both_usd, 6) if cost else None,
    )


def _notes(artifact: Artifact, cost: TaskCost | None) -> Iterator[str]:
    if artifact.mock:
        yield "a mock run: its flips and tokens are scripted and tell nothing about these models"
    if artifact.stopped:
        yield "the measurement stopped early at a regression: its flip rate is too high, and so are these numbers"
    if cost is None:
        reason = (
            "scripted models use no tokens" if artifact.mock else "it records no tokens with a price, and no dollars"
        )
        yield f"no dollars: {reason}"
    elif cost.guessed:
        yield "TokenJam knows no price of a model here: the dollars are a guess"
    elif artifact.costs_stated:
        yield "dollars are as the tool that measured stated them"
    if artifact.judge:
        yield f"calls of the judge {artifact.judge} are not in the dollars"
    if artifact.sampling.samples > 1:
        yield f"for one sample a task; this run took {artifact.sampling.samples}, and each costs as much again"


def tell_plan(path: Path, *, drop_pp: float | None, suite: str | None, as_json: bool, stdout: TextIO) -> ExitCode:
    """Plan from one artifact, or from the newest complete one of every row in a directory."""
    loaded = load_path(path)
    chosen, _ = newest_per_key(loaded.artifacts.values())
    found = [artifact for key, artifact in sorted(chosen.items()) if suite in (None, key.suite)]
    if not found:
        names = sorted({key.suite for key in chosen})
        raise UsageError(
            f"{path} holds no artifact{f' of suite {suite}' if suite else ''}",
            why=f"it holds {', '.join(names)}" if names else "; ".join(loaded.rejected.values()),
            fix="name one that tjb run or tjb ci wrote",
        )
    plans = [plan_of(artifact, drop_pp) for artifact in found]
    if as_json:
        stdout.write(
            json.dumps({"plans": [asdict(plan) for plan in plans], "skipped": dict(loaded.rejected)}, indent=1)
        )
        stdout.write("\n")
    else:
        lines = [line for plan in plans for line in (*render(plan), "")]
        stdout.write("\n".join([*lines, *(f"skipped {name}: {why}" for name, why in loaded.rejected.items())]))
    return ExitCode.PASSED


def render(plan: Plan) -> Iterator[str]:
    """The plan in lines for people."""
    flips, drop = plan.flip_rate, f"{plan.drop_pp:g} pp"
    yield f"{plan.suite}: {plan.original_model} → {plan.candidate_model}"
    seen = f"{flips.broke:g} broke, {flips.recovered:g} recovered of {counted(flips.n_scored, 'scored task')}"
    floor = ", too few to go by, so no less is assumed" if flips.floored else ""
    yield f"  flip rate {percent(100 * flips.value)}: {seen}{floor}"
    if plan.task_cost:
        cost = plan.task_cost
        yield (
            f"  a task costs {dollars(cost.both_usd)}: {dollars(cost.original_usd)} on the original, "
            f"{dollars(cost.candidate_usd)} on the candidate"
        )
    yield f"  to rule out a drop of {drop} when nothing changed: {_needed(plan.rule_out)}"
    yield f"  to detect a true drop of {drop}: {_needed(plan.detect)}"
    yield f"  each {percent(100 * plan.power, 0)} of the time; the suite has {counted(plan.n_available, 'task')}"
    yield from (f"  {note}" for note in plan.notes)


def _needed(need: Need) -> str:
    about = "about " if need.approximate else ""
    return f"{about}{number(need.tasks)} tasks{f', {dollars(need.total_usd)}' if need.total_usd is not None else ''}"
