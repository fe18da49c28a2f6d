"""Broken tasks asked again: which, and what is left of an alarm when only those that broke twice count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tjbench.compare.artifact import RowKey
from tjbench.compare.corrected import Corrected, correct, stands_alone
from tjbench.compare.decision import Confirmation, ConfirmedTask
from tjbench.compare.matrix import Row
from tjbench.compare.pair import Pair, Trial, p_text, tasks
from tjbench.compare.policy import GatePolicy
from tjbench.compare.stats import Verdict, sign_flip_one_sided
from tjbench.config import Policy

Trials = Mapping[str, Trial]


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What the candidates made of the tasks that broke, by row and task id, and what that cost. ``trouble`` says why
    there is nothing; a task without a scored outcome counts as broken again."""

    trials: Mapping[RowKey, Trials]
    cost_usd: float = 0.0
    trouble: str = ""


def broken_tasks(rows: Sequence[Row], policy: GatePolicy) -> dict[RowKey, tuple[str, ...]]:
    """The tasks to ask again before ``regression`` fails the job: all that broke in the rows that ring together."""
    tests = correct(rows, policy)
    ringing = any(family.failing and family.result.alarm for family in tests.families)
    found = {}
    for row in rows:
        if row.head is None or row.head.incomplete or not policy.fails_on(row.key, Policy.REGRESSION):
            continue
        alone = stands_alone(row) and row.key in tests.worse_than_original
        if (row.change is not None and ringing) or (alone and row.head.verdict is Verdict.SIGNIFICANT_REGRESSION):
            found[row.key] = tuple(pair.task_id for pair in _pairs(row) if _broke(pair))
    return {key: ids for key, ids in found.items() if ids}


def confirm(tests: Corrected, rows: Sequence[Row], policy: GatePolicy, again: Again) -> Corrected:
    """What rejects both as measured and with only those tasks as broken that broke twice; recovered ones stay.

    With several samples a task lost what it lost both times. Both tests must reject, so the chance of a false alarm
    is at most that of the first.
    """
    milder = [_milder(row, again.trials[row.key]) if row.key in again.trials else row for row in rows]
    second = correct(milder, policy)
    doubted = (tests.regressed - second.regressed) | (tests.worse_than_original - second.worse_than_original)
    return replace(
        tests,
        families=tuple(
            replace(
                once,
                regressed=once.regressed & twice.regressed,
                confirmed=twice.result.pooled_rejected,
            )
            for once, twice in zip(tests.families, second.families, strict=True)
        ),
        regressed=tests.regressed & second.regressed,
        worse_than_original=tests.worse_than_original & second.worse_than_original,
        unconfirmed={row.key: _told([row], again) for row in rows if row.key in doubted},
    )


def confirmation(
    tests: Corrected, rows: Sequence[Row], wanted: Mapping[RowKey, Sequence[str]], again: Again
) -> Confirmation:
    """The record of the second asking. ``tests`` are those after ``confirm``."""
    asked = [row for row in rows if row.key in wanted]
    sentence = f"{_told(asked, again)}, ${again.cost_usd:.2f}"
    if again.trouble:
        sentence = f"the broken tasks could not be asked again, so the first run stands: {again.trouble}"
    return Confirmation(
        confirmed=not tests.doubted,
        sentence=sentence,
        cost_usd=round(again.cost_usd, 6),
        tasks=tuple(
            ConfirmedTask(
                suite=row.key.suite,
                original_model=row.key.original,
                slot=row.key.slot,
                task_id=task_id,
                passes=trial.passes if (trial := again.trials.get(row.key, {}).get(task_id)) else 0,
                samples=trial.samples if trial else 0,
                unscored=trial.unscored if trial else 0,
            )
            for row in asked
            for task_id in wanted[row.key]
        ),
    )


def _told(rows: Sequence[Row], again: Again) -> str:
    """How many of the rows' broken tasks broke again; rows that share a run are counted once."""
    runs: dict[object, tuple[list[Pair], list[Pair], int]] = {}
    for row in rows:
        trials = again.trials.get(row.key, {})
        before, after = _pairs(row), _pairs(_milder(row, trials))
        unasked = sum(_broke(pair) and not _answered(trials, pair.task_id) for pair in before)
        runs[tuple(before)] = before, after, unasked
    changes = [pair.change for _, after, _ in runs.values() for pair in after if pair.scored]
    broke = sum(map(_broke, (pair for before, _, _ in runs.values() for pair in before)))
    twice = sum(map(_broke, (pair for _, after, _ in runs.values() for pair in after)))
    unasked = sum(count for _, _, count in runs.values())
    text = f"{twice} of {broke} broken {tasks(broke)} broke again"
    if not any(row.head and row.head.stopped for row in rows):  # a p-value is for a fixed number of tasks
        text = f"{text} (p {p_text(sign_flip_one_sided(changes))})"
    return f"{text}, {unasked} of them counted as broken because no answer came" if unasked else text


def _milder(row: Row, trials: Trials) -> Row:
    """The row as if only what was lost twice were lost."""

    def mild(before: Trial, after: Trial, task_id: str) -> Trial:
        if after.passes >= before.passes or not _answered(trials, task_id):
            return after
        return replace(after, passes=min(before.passes, max(after.passes, trials[task_id].passes)))

    if row.change is not None:
        pairs = tuple(replace(p, after=mild(p.before, p.after, p.task_id)) for p in row.overlap.candidate)
        return replace(row, overlap=replace(row.overlap, candidate=pairs))
    assert row.head is not None
    records = tuple(
        task.model_copy(update={"candidate": mild(task.original, task.candidate, task.task_id)})
        for task in row.head.tasks
    )
    return replace(row, head=row.head.model_copy(update={"tasks": records}))


def _pairs(row: Row) -> list[Pair]:
    if row.change is not None:
        return list(row.overlap.candidate)
    head = row.head.tasks if row.head else ()
    return [Pair(task_id=task.task_id, before=task.original, after=task.candidate) for task in head]


def _broke(pair: Pair) -> bool:
    return pair.scored and pair.change < 0


def _answered(trials: Trials, task_id: str) -> bool:
    return task_id in trials and trials[task_id].scored
