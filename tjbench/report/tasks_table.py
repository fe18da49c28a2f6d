"""Every task of a measurement with both outcomes, those that differ first."""

from __future__ import annotations

from tjbench.compare.artifact import Artifact, TaskRecord
from tjbench.compare.pair import Trial
from tjbench.report.page import Code, Phrase, Table
from tjbench.report.units import counted, number, tokens
from tjbench.report.words import models

HEADER: tuple[Phrase, ...] = tuple(
    (name,) for name in ("task", "original", "candidate", "output tokens", "seconds", "cause", "detail")
)
NUMBERS = frozenset({3, 4})
DETAIL_LIMIT = 240


def tasks_table(artifact: Artifact) -> Table:
    """Tokens and seconds are ``original → candidate``."""
    return Table(
        title=(
            Code(artifact.suite.name),
            ": ",
            *models(artifact.original_model, artifact.candidate_model),
            f", {counted(artifact.n_tasks, 'task')}",
        ),
        header=HEADER,
        rows=tuple(_cells(task) for task in sorted(artifact.tasks, key=_rank)),
        right=NUMBERS,
    )


def _rank(task: TaskRecord) -> int:
    """Broke, unscored, recovered, failed by both, passed by both; the suite's order within."""
    change = task.candidate.passes - task.original.passes
    if not (task.original.scored and task.candidate.scored):
        return 1
    if change:
        return 0 if change < 0 else 2
    return 4 if task.candidate.passes == task.candidate.samples else 3


def _cells(task: TaskRecord) -> tuple[Phrase, ...]:
    before, after = task.original, task.candidate
    told = after if after.cause else before
    detail = told.detail if len(told.detail) <= DETAIL_LIMIT else told.detail[: DETAIL_LIMIT - 1] + "…"
    return (
        (Code(task.task_id),),
        (_outcome(before),),
        (_outcome(after),),
        (f"{tokens(before.usage.output)} → {tokens(after.usage.output)}",),
        (f"{_seconds(before)} → {_seconds(after)}",),
        (Code(told.cause),) if told.cause else ("",),
        (detail,),
    )


def _outcome(trial: Trial) -> str:
    if not trial.scored:
        return "? unscored"
    if trial.samples > 1:
        return f"{'✓' if trial.passes == trial.samples else '✗'} {trial.passes}/{trial.samples}"
    return "✓ pass" if trial.passes else "✗ fail"


def _seconds(trial: Trial) -> str:
    return "—" if trial.latency_s is None else number(trial.latency_s, 1)
