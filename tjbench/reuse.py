"""Outcomes of a stored artifact that stand in for calls: the same question, asked the same way, judged the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tjbench.compare.artifact import Artifact, TaskRecord
from tjbench.compare.pair import REUSED_ARTIFACT, Trial
from tjbench.compare.reused import measured_at
from tjbench.config import ModelSpec
from tjbench.models.model import Sampling
from tjbench.suites.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a model is asked for one row, and how it is judged."""

    suite: str
    spec: ModelSpec
    sampling: Sampling
    samples: int
    scorer_version: str
    judge: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Outcomes by what was asked, of live artifacts no older than ``oldest``; ``sent`` by model."""

    trials: Mapping[tuple[Asked, str, str, str], Trial] = field(default_factory=dict)
    sent: Mapping[str, Mapping[str, float | int | str]] = field(default_factory=dict)
    originals: bool = False
    candidates: bool = False

    def find(self, asked: Asked, task: Task, *, is_original: bool) -> Trial | None:
        """The stored outcome of one task, marked with where it is from, if this side may be reused."""
        allowed = self.originals if is_original else self.candidates
        return self.trials.get((asked, task.id, task.check_hash, task.prompt_hash)) if allowed else None


def stored_outcomes(artifacts: Mapping[str, Artifact], *, reuse: str, max_age_days: float, now: datetime) -> Stored:
    """Every whole outcome that may be reused (``reuse``: never, original or all); the newest stands in.

    What stopped early holds the tasks that made it stop, so none of its outcomes stands in. An outcome that its
    artifact had reused itself is as old as its first measurement, so that no chain makes it young.
    """
    trials: dict[tuple[Asked, str, str, str], Trial] = {}
    sent: dict[str, Mapping[str, float | int | str]] = {}
    oldest = now - timedelta(days=max_age_days)
    for name, artifact in sorted(artifacts.items(), key=lambda item: item[1].created_at):
        if artifact.mock or artifact.stopped or reuse == "never" or artifact.sampling.max_tokens is None:
            continue
        for model in (artifact.original_model, artifact.candidate_model):
            asked = _asked(artifact, model)
            sent[model] = artifact.sampling.sent.get(model, sent.get(model, {}))
            for task in artifact.tasks:
                trial = _marked(task, name, artifact, model)
                at = measured_at(trial)  # what tells no date is too old
                if trial.scored and trial.stated_cost_usd is None and at is not None and at >= oldest:
                    trials[asked, task.task_id, task.check_hash, task.prompt_hash] = trial
    return Stored(trials=trials, sent=sent, originals=reuse in ("original", "all"), candidates=reuse == "all")


def _asked(artifact: Artifact, model: str) -> Asked:
    sampling = artifact.sampling
    assert sampling.max_tokens is not None
    return Asked(
        suite=artifact.suite.name,
        spec=ModelSpec.parse(model),
        sampling=Sampling(max_tokens=sampling.max_tokens, temperature=sampling.temperature, seed=artifact.seed),
        samples=sampling.samples,
        scorer_version=artifact.scorer_version,
        judge=artifact.judge,
    )


def _marked(task: TaskRecord, name: str, artifact: Artifact, model: str) -> Trial:
    trial = task.original if model == artifact.original_model else task.candidate
    if trial.is_reused:
        return trial
    return replace(trial, reused_from=f"{REUSED_ARTIFACT}{name}, {artifact.created_at.isoformat()}")
