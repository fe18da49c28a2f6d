"""Measure what a configuration asks for, and keep every artifact before anything is judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tjbench.bench import Beginner, Bench, BenchResult, SelfTest, Watcher
from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.early_stop import evidence_needed
from tjbench.compare.pair import Trial
from tjbench.config import Config, ModelSpec, Run
from tjbench.errors import UsageError
from tjbench.models.model import Model
from tjbench.reuse import Stored
from tjbench.row_plan import ModelOpener, RowPlan, Settings
from tjbench.rows import Rows, judge_of, mock_opener
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.scoring.judge import SCRIPTED, ScriptedJudge
from tjbench.store.artifacts import require_directory, write_artifact
from tjbench.tokenjam import Snapshot

LiveOpener = Callable[[Config], ModelOpener]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRun:
    """The collaborators of one measurement; all that touches the world outside is passed in. ``whole`` rows do not stop
    early, for the reason given."""

    config: Config
    snapshot: Snapshot
    rows: Rows
    open_live: LiveOpener
    mock: bool
    out: Path
    watch: Watcher
    warn: Callable[[str], None]
    commit: str | None
    allow_unsandboxed: bool = False
    begin: Beginner = field(default=lambda _course: None)
    self_test: SelfTest = field(default=lambda _suites, _box: None)
    stored: Stored = field(default_factory=Stored)
    private: bool = False
    whole: Mapping[RowKey, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    begun: float = field(default_factory=time.monotonic)


def measure(run: MeasureRun) -> tuple[BenchResult, dict[Path, Artifact]]:
    """Ask, score, compare, and write one artifact a row into ``run.out``, which must take files before any is asked."""
    if not run.mock:
        judge = judge_of(run.config, run.rows.plans)
        require_priced(run.config.run, run.rows.plans, run.snapshot, judge)
    require_directory(run.out)
    result = _bench(run, run.config.run.max_cost_usd).run(_stopping(run))
    return result, {write_artifact(measured.artifact, run.out): measured.artifact for measured in result.measured}


def _stopping(run: MeasureRun) -> tuple[RowPlan, ...]:
    """The rows to measure: where the configuration wants it, with the evidence at which each stops, if it may."""
    plans = run.rows.plans
    if not run.config.gate.early_stop:
        return plans
    reused = "stored outcomes may stand in for the candidate's" if run.stored.candidates else ""
    reasons = [_never_stops(plan) or reused or run.whole.get(plan.row, "") for plan in plans]
    for plan, why in zip(plans, reasons, strict=True):
        if why:
            run.warn(f"no early stop for {plan.suite.name}, {plan.original} → {plan.candidate}: {why}")
    needed = evidence_needed(reasons.count(""), run.config.gate.alpha)
    return tuple(plan if why else replace(plan, stop_at=needed) for plan, why in zip(plans, reasons, strict=True))


def _never_stops(plan: RowPlan) -> str:
    """Why a row's tasks cannot be looked at one at a time; empty where they can."""
    if plan.samples > 1:
        return "it has several samples a task, and their test no such evidence"
    if plan.shard:
        return "a shard is a part of the row"
    return "a replay is measured whole" if plan.replay else ""


def measure_again(
    run: MeasureRun, wanted: Mapping[RowKey, Collection[str]], charged_usd: float
) -> tuple[dict[RowKey, dict[str, Trial]], BenchResult]:
    """The candidates of some rows at some tasks once more, by row and task id, with what is left of the cap.

    Every call is a new one: it is numbered after those that the run made. Nothing is written but the journal.
    """
    plans = {plan.row: plan for plan in run.rows.plans}
    again = {key: _again(plans[key], set(ids)) for key, ids in wanted.items()}
    cap = run.config.run.max_cost_usd
    result = _bench(run, None if cap is None else max(0.0, cap - charged_usd)).run(list(again.values()))
    answered = zip(again, (measured.artifact for measured in result.measured), strict=True)
    return {key: {task.task_id: task.candidate for task in made.tasks} for key, made in answered}, result


def _again(plan: RowPlan, ids: set[str]) -> RowPlan:
    suite = replace(plan.suite, tasks=tuple(task for task in plan.suite.tasks if task.id in ids))
    return replace(plan, suite=suite, original=plan.candidate, first_sample=plan.samples)


def _bench(run: MeasureRun, cap_usd: float | None) -> Bench:
    seed = next((proof.seed for proof in run.config.proof if proof.seed is not None), None)
    minutes = run.config.run.deadline_minutes
    return Bench(
        snapshot=run.snapshot,
        open_model=mock_opener(run.config, seed) if run.mock else run.open_live(run.config),
        settings=Settings(
            concurrency=run.config.run.concurrency,
            max_cost_usd=cap_usd,
            deadline=Deadline(minutes=minutes, begun=run.begun) if minutes is not None else None,
            patience=run.patience,
            mock=run.mock,
            seed=seed,
            commit=run.commit,
            allow_unsandboxed=run.allow_unsandboxed,
            private=run.private,
        ),
        begin=run.begin,
        watch=run.watch,
        warn=run.warn,
        self_test=run.self_test,
        judge=_open_judge(run),
        stored=run.stored,
    )


def require_priced(run: Run, plans: Sequence[RowPlan], snapshot: Snapshot, judge: ModelSpec | None) -> None:
    """A cap holds only where prices are known. Raises ``UsageError`` for a placeholder, and for a price of 0 that is
    the user's own, unless ``allow_unpriced`` says so."""
    if run.max_cost_usd is None or run.allow_unpriced:
        return
    specs = [spec for plan in plans for spec in plan.asked] + ([judge] if judge else [])
    for spec in specs:
        rates = snapshot.rates[spec]
        free = rates.source != "packaged" and min(rates.input, rates.output) == 0
        if rates.source == "default" or free:
            why = "its price is 0 by an override" if free else "TokenJam does not know the model and guesses its price"
            raise UsageError(
                f"the cap of ${run.max_cost_usd:.2f} cannot be held, for {spec} has no known price",
                why=why,
                fix="give TokenJam its price, or accept that: --allow-unpriced, allow_unpriced = true under [run] of "
                'tjbench.toml, or in a workflow, under with: allow-unpriced: "true"',
            )


def _open_judge(run: MeasureRun) -> Model | None:
    """The judge of judged tasks; over scripted models one that knows their right answers."""
    judged = [plan.suite for plan in run.rows.plans if plan.suite.judged]
    if not judged:
        return None
    if not run.mock:
        spec = judge_of(run.config, run.rows.plans)
        return run.open_live(run.config)(spec, judged[0]) if spec else None
    right: dict[str, frozenset[str]] = {}
    for task in (task for suite in judged for task in suite.tasks if task.canned):
        right[task.id] = right.get(task.id, frozenset()) | {task.canned.right if task.canned else ""}
    return ScriptedJudge(right, ModelSpec.parse(run.config.judge.model) if run.config.judge.model else SCRIPTED)
