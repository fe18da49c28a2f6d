"""Outcomes of two models, wherever they were measured, as the paired tasks and the prices of an artifact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum

from tjbench.compare.artifact import UNKNOWN, TaskRecord
from tjbench.compare.pair import Trial
from tjbench.config import ModelSpec
from tjbench.errors import UsageError
from tjbench.imports.outcome import Outcome
from tjbench.pricing import Rates, Usage
from tjbench.suites.task import digest

NOT_IN_FILE = "not_in_file"
"""The cause of a sample that one model has and the other lacks."""
DETAIL = 240


class Basis(StrEnum):
    """What an artifact's dollars rest on: the tool's own statement, tokens at TokenJam's rates, or nothing."""

    STATED = "stated"
    TOKENS = "tokens"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The tasks of one suite on two models, ``samples`` of each; ``lacking`` samples are missing from one side."""

    tasks: tuple[TaskRecord, ...]
    samples: int
    basis: Basis
    lacking: int


def find_model(spec: ModelSpec, models: Mapping[str, tuple[str, ...]], role: str) -> str:
    """The name of the one seen model that goes by ``spec``, or whose model does under another provider.

    Raises ``UsageError`` naming the models seen.
    """
    wanted = str(spec).casefold()
    exact = [name for name, forms in models.items() if wanted in map(str.casefold, forms)]
    loose = [
        name
        for name, forms in models.items()
        if spec.model.casefold() in {form.partition(":")[2].casefold() or form.casefold() for form in forms}
    ]
    found = exact or loose
    if len(found) == 1:
        return found[0]
    seen = ", ".join(" or ".join(dict.fromkeys((name, *forms))) for name, forms in models.items()) or "none"
    raise UsageError(
        f"the {role} {spec} is {'several models' if found else 'not'} in the results",
        why=f"the models seen are {seen}",
        fix=f"name one of them with --{role}",
    )


def pair_outcomes(originals: Iterable[Outcome], candidates: Iterable[Outcome]) -> Paired:
    """Pair tasks by id. A sample that only one side has is unscored on the other.

    Raises ``UsageError`` where one side has a sample twice, the sides have different numbers of samples, or a task was
    checked by something else on the other side.
    """
    sides = (_by_task(originals), _by_task(candidates))
    samples = _samples(sides)
    ids = tuple(dict.fromkeys([*sides[0], *sides[1]]))
    judged = [o for side in sides for outcomes in side.values() for o in outcomes if o.passed is not None]
    keep = _Kept(
        input=_all(o.input_tokens for o in judged),
        output=_all(o.output_tokens for o in judged),
        cost=_all(o.cost_usd for o in judged),
    )
    tasks = tuple(
        _record(task_id, (sides[0].get(task_id, ()), sides[1].get(task_id, ())), samples, keep) for task_id in ids
    )
    return Paired(
        tasks=tasks,
        samples=samples,
        basis=Basis.STATED if keep.cost else Basis.TOKENS if keep.input and keep.output else Basis.NONE,
        lacking=sum(samples - len(side.get(task_id, ())) for side in sides for task_id in ids),
    )


def rates_for(paired: Paired, rates: Sequence[Rates]) -> tuple[Rates, Rates]:
    """The original's and the candidate's prices, where the artifact's dollars or claims may rest on them.

    Placeholders price tokens, since nothing else does, and are marked by their source; they never stand beside dollars
    that the tool stated.
    """
    guessed = any(rate.source == "default" for rate in rates)
    if paired.basis is Basis.TOKENS or (paired.basis is Basis.STATED and not guessed):
        return rates[0], rates[1]
    nothing = [replace(rate, input=0, output=0, cache_read=0, cache_write=0, source=UNKNOWN) for rate in rates]
    return nothing[0], nothing[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What every judged sample of both models tells; what only some tell is no total."""

    input: bool
    output: bool
    cost: bool


def _all(values: Iterable[float | None]) -> bool:
    found = list(values)
    return bool(found) and None not in found


def _by_task(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = defaultdict(list)
    seen: dict[tuple[str, str], Outcome] = {}
    for outcome in outcomes:
        before = seen.setdefault((outcome.task_id, outcome.sample), outcome)
        if before is not outcome:
            raise UsageError(
                f"{outcome.where}: task {outcome.task_id!r} of {outcome.model} was there before",
                why=f"the same sample stands at {before.where}",
                fix="number the samples of a task (a column sample in CSV), or leave one of the files out",
            )
        found[outcome.task_id].append(outcome)
    return found


def _samples(sides: Sequence[Mapping[str, Sequence[Outcome]]]) -> int:
    """The most that any task has, on both sides the same."""
    most = [max((len(outcomes) for outcomes in side.values()), default=0) for side in sides]
    if most[0] != most[1]:
        raise UsageError(
            f"the original has {most[0]} samples a task and the candidate {most[1]}",
            why="outcomes are paired sample by sample",
            fix="import as many of each",
        )
    return most[0]


def _record(task_id: str, sides: tuple[Sequence[Outcome], Sequence[Outcome]], samples: int, keep: _Kept) -> TaskRecord:
    both = [*sides[0], *sides[1]]
    checks = {o.check or UNKNOWN for o in both}
    if len(checks) > 1:
        first, other = both[0], next(o for o in both if o.check != both[0].check)
        raise UsageError(
            f"{other.where}: task {task_id!r} is checked by something else than at {first.where}",
            why="two models are compared on the same checks",
            fix="import results of the same tests and metric",
        )
    prompts = sorted({o.prompt or UNKNOWN for o in both})
    return TaskRecord(
        task_id=task_id,
        check_hash=checks.pop(),
        # Two models may be shown a task in two ways: both together are what was shown.
        prompt_hash=prompts[0] if len(prompts) == 1 else digest(prompts),
        original=_trial(sides[0], samples, keep),
        candidate=_trial(sides[1], samples, keep),
    )


def _trial(outcomes: Sequence[Outcome], samples: int, keep: _Kept) -> Trial:
    troubled = next((o for o in outcomes if o.passed is not True), None)
    missing = samples - len(outcomes)
    costs = [o.cost_usd for o in outcomes if o.cost_usd is not None]
    latencies = [o.latency_s for o in outcomes if o.latency_s is not None]
    return Trial(
        passes=sum(o.passed is True for o in outcomes),
        samples=samples,
        unscored=missing + sum(o.passed is None for o in outcomes),
        usage=sum((_usage(o, keep) for o in outcomes), Usage()),
        latency_s=round(fsum(latencies) / len(latencies), 3) if latencies else None,
        cause=troubled.cause if troubled else NOT_IN_FILE if missing else None,
        detail=" ".join(troubled.detail.split())[:DETAIL] if troubled else "",
        stated_cost_usd=fsum(costs) if keep.cost and costs else None,
    )


def _usage(outcome: Outcome, keep: _Kept) -> Usage:
    return Usage(
        input=(outcome.input_tokens or 0) if keep.input else 0,
        output=(outcome.output_tokens or 0) if keep.output else 0,
        cache_read=outcome.cache_read_tokens if keep.input else 0,
        cache_write=outcome.cache_write_tokens if keep.input else 0,
    )
