"""Scored attempts stated as artifacts: trials of tasks, priced and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from tjbench import __version__
from tjbench.compare.artifact import (
    Artifact,
    Flag,
    SamplingRecord,
    SuiteRecord,
    TaskRecord,
    counts_free_cache,
    derive,
)
from tjbench.compare.early_stop import evidence, stopped_reason
from tjbench.compare.pair import Pair, Trial
from tjbench.config import ModelSpec
from tjbench.pricing import Usage
from tjbench.reuse import Asked, Stored
from tjbench.row_plan import JobKey, RowPlan, Settings
from tjbench.runner.attempt import Attempt
from tjbench.scoring.blame import suspect_scorer
from tjbench.scoring.score import Cause, Score, one_line
from tjbench.scoring.scorer import SCORER_VERSION
from tjbench.suites.task import Suite, Task
from tjbench.tokenjam import Snapshot, claimed_saving_pct

NO_SANDBOX = "not_used"

Scored = tuple[Attempt, Score]
Outcomes = Mapping[JobKey, Scored]
Sent = dict[str, dict[str, float | int | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One attempt with its score, for the transcript."""

    model: ModelSpec
    attempt: Attempt
    score: Score

    def as_json(self) -> dict[str, object]:
        """The transcript line."""
        return {"model": str(self.model), "attempt": asdict(self.attempt), "score": asdict(self.score)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row's artifact, its answers, and why it is not complete where it is not."""

    artifact: Artifact
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """States rows of one run. ``judge`` grades judged tasks; ``stored`` outcomes stand in for calls."""

    snapshot: Snapshot
    settings: Settings
    judge: ModelSpec | None = None
    stored: Stored = field(default_factory=Stored)

    def measured(self, plan: RowPlan, scored: Outcomes, at: datetime, level: str) -> Measured:
        """The row's artifact and answers; ``level`` is how the box held what was executed."""
        answers = [
            Answer(model=spec, attempt=attempt, score=score)
            for spec in dict.fromkeys((plan.original, plan.candidate))
            for task in plan.held.tasks
            for attempt, score in made(plan, spec, task, scored)
        ]
        records = [
            TaskRecord(
                task_id=task.id,
                check_hash=task.check_hash,
                prompt_hash=task.prompt_hash,
                original=self.trial(plan, plan.original, task, scored),
                candidate=self.trial(plan, plan.candidate, task, scored),
            )
            for task in plan.held.tasks
        ]
        used = {str(spec) for spec in (plan.original, plan.candidate)}
        sent = {model: dict(found) for model, found in self.stored.sent.items() if model in used and found}
        sent |= {str(answer.model): dict(answer.attempt.sent) for answer in answers if answer.attempt.sent}
        return Measured(artifact=self._artifact(plan, records, sent, at, level), answers=tuple(answers))

    def trial(self, plan: RowPlan, spec: ModelSpec, task: Task, scored: Outcomes) -> Trial:
        """Another row may have asked what this one would have reused: then that is what holds."""
        if plan.reference is not None and spec == plan.original:
            return plan.reference[task.id]
        asked, held = made(plan, spec, task, scored), self.reused(plan, spec, task)
        if held is not None and len(asked) < plan.samples:
            return held
        return _without_text(build_trial(asked)) if self.settings.private else build_trial(asked)

    def reused(self, plan: RowPlan, spec: ModelSpec, task: Task) -> Trial | None:
        """The stored outcome that stands in for asking ``spec``; attempts beside those made are always new."""
        if self.settings.mock or plan.first_sample:
            return None
        asked = Asked(
            suite=plan.suite.name,
            spec=spec,
            sampling=plan.sampling,
            samples=plan.samples,
            scorer_version=SCORER_VERSION,
            judge=str(self.judge) if self.judge and plan.suite.judged else None,
        )
        return self.stored.find(asked, task, is_original=spec == plan.original)

    def _artifact(self, plan: RowPlan, records: Sequence[TaskRecord], sent: Sent, at: datetime, level: str) -> Artifact:
        original, candidate = str(plan.original), str(plan.candidate)
        rates = {str(spec): self.snapshot.rates[spec] for spec in (plan.original, plan.candidate)}
        guessed = any(rate.source == "default" for rate in rates.values())
        claimed = None if guessed else claimed_saving_pct(rates[original], rates[candidate])
        flags = {
            Flag.MOCK: self.settings.mock,
            Flag.DEFAULT_RATES: guessed,
            Flag.UNKNOWN_CACHE_RATE: counts_free_cache(records, rates, original, candidate),
            Flag.JUDGE_SCORED: plan.suite.judged,
            Flag.OVERRIDES: any(rate.source == "override" for rate in rates.values()),
            Flag.SUSPECT_SCORER: suspect_scorer(r.original for r in records)
            or suspect_scorer(r.candidate for r in records),
            Flag.REUSED: any(trial.reused_from for r in records for trial in (r.original, r.candidate)),
        }
        return Artifact.model_validate(
            {
                "schema": "tjbench/1",
                "bench_version": __version__,
                "tokenjam_version": self.snapshot.version,
                "created_at": at,
                "suite": SuiteRecord(
                    name=plan.suite.name,
                    prompts_revision=plan.held.prompts_revision,
                    checks_revision=plan.held.checks_revision,
                    n_available=plan.suite.n_available,
                ),
                "original_model": original,
                "candidate_model": candidate,
                "slot": plan.slot,
                "recommended_by": plan.recommended_by,
                "sampling": SamplingRecord(
                    samples=plan.samples,
                    temperature=plan.sampling.temperature,
                    max_tokens=plan.sampling.max_tokens,
                    sent=sent,
                ),
                "seed": self.settings.seed,
                "scorer_version": SCORER_VERSION,
                "sandbox_level": _held(level, plan.suite),
                "judge": str(self.judge) if self.judge and plan.suite.judged else None,
                "mock": self.settings.mock,
                "priced_with_defaults": guessed,
                "flags": tuple(flag for flag, is_set in flags.items() if is_set),
                "rates": rates,
                "claimed_saving_pct": None if claimed is None else round(claimed, 4),
                "commit": self.settings.commit,
                "shard": plan.shard,
                "replay": plan.replay.record if plan.replay else None,
                "tasks": tuple(records),
                **derive(records, rates, original, candidate, plan.rule, uncontrolled=plan.reference is not None),
                **_early_stop(plan, records),
            }
        )


def made(plan: RowPlan, spec: ModelSpec, task: Task, scored: Outcomes) -> list[Scored]:
    """The scored attempts at one task, in the order of their samples."""
    keys = (plan.key(spec, task, sample) for sample in plan.draws)
    return [scored[key] for key in keys if key in scored]


def _early_stop(plan: RowPlan, records: Sequence[TaskRecord]) -> dict[str, object]:
    """What the artifact of a row that could stop says of that."""
    if plan.stop_at is None:
        return {}
    used, planned = len(records), len(plan.suite.tasks)
    e = evidence(Pair(task_id=r.task_id, before=r.original, after=r.candidate) for r in records)
    told = {"verdict_reason": stopped_reason(records, planned)} if used < planned else {}
    return {"early_stop": {"e_value": e, "n_used": used, "n_planned": planned, "e_needed": plan.stop_at}, **told}


def _held(level: str, suite: Suite) -> str:
    """How the suite's answers were held, with what weakens it."""
    if not suite.executes_code:
        return NO_SANDBOX
    return f"{level}, tests share the answer's interpreter" if suite.shares_interpreter else level


def build_trial(scored: Sequence[Scored]) -> Trial:
    """One task on one model from its k scored attempts, in the order of their samples."""
    troubled = next(((a, s) for a, s in scored if s.passed is not True), None)
    latencies = [attempt.latency_s for attempt, _ in scored if attempt.latency_s is not None]
    return Trial(
        passes=sum(score.passed is True for _, score in scored),
        samples=len(scored),
        unscored=sum(score.passed is None for _, score in scored),
        usage=sum((attempt.usage for attempt, _ in scored if attempt.usage), Usage()),
        latency_s=round(sum(latencies) / len(latencies), 3) if latencies else None,
        cause=str(troubled[1].cause) if troubled else None,
        detail=one_line(troubled[1].detail) if troubled else "",
        reused_from=next((attempt.reused_from for attempt, _ in scored if attempt.reused_from), None),
    )


def _without_text(trial: Trial) -> Trial:
    """The trial without what a provider or a judge said; a score's own words are numbers."""
    said = trial.detail.partition(": ")[0] if trial.cause == Cause.WRONG_ANSWER else ""
    return replace(trial, detail=said)
