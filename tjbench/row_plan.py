"""What is to be measured, row by row, and how a run goes about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tjbench.compare.artifact import ReplayRecord, RowKey, ShardRecord
from tjbench.compare.pair import Rule, Trial
from tjbench.config import ModelSpec
from tjbench.models.model import Model, Sampling
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.suites.task import Suite, Task

JobKey = tuple[ModelSpec, str, str, int, Sampling]
"""One attempt: model, suite, task id, number of the sample, and what is asked of it."""
ModelOpener = Callable[[ModelSpec, Suite], Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """A row of recorded calls. Without a control ``reference`` has what the original did at each task, by its id, and
    the original is not asked. ``n_partial`` calls were sent with more than was recorded."""

    judged_by: str
    reference: Mapping[str, Trial] | None
    n_partial: int = 0

    @property
    def record(self) -> ReplayRecord:
        return ReplayRecord(control=self.reference is None, judged_by=self.judged_by, n_partial=self.n_partial)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """One row to measure: ``samples`` attempts a task on both models, judged by ``rule``. Of a run that is split,
    ``suite`` holds the part that ``shard`` names. Attempts are numbered from ``first_sample``: later ones are new calls
    beside those that were made. ``stop_at`` is the evidence of a regression at which no more tasks are asked; the row
    then rests on those that are ``kept``."""

    suite: Suite
    original: ModelSpec
    candidate: ModelSpec
    slot: str
    recommended_by: str
    sampling: Sampling
    samples: int
    rule: Rule
    shard: ShardRecord | None = None
    first_sample: int = 0
    replay: ReplayPlan | None = None
    stop_at: float | None = None
    kept: Suite | None = None

    @property
    def row(self) -> RowKey:
        """What is compared with what across time."""
        return RowKey(self.suite.name, str(self.original), self.slot)

    @property
    def held(self) -> Suite:
        """The tasks that the artifact holds, in the suite's order."""
        return self.kept or self.suite

    @property
    def draws(self) -> range:
        """The numbers of a task's attempts."""
        return range(self.first_sample, self.first_sample + self.samples)

    def key(self, spec: ModelSpec, task: Task, sample: int) -> JobKey:
        """Names one attempt, whichever rows need it."""
        return (spec, self.suite.name, task.id, sample, self.sampling)

    @property
    def reference(self) -> Mapping[str, Trial] | None:
        """What stands for the original where it is not asked."""
        return self.replay.reference if self.replay else None

    @property
    def asked(self) -> tuple[ModelSpec, ...]:
        """The models that are asked."""
        return (self.candidate,) if self.reference is not None else (self.original, self.candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run goes about it. ``max_cost_usd`` is a hard cap on what this run spends; ``None`` is no cap.
    ``concurrency`` calls are in flight to each provider at most. In a ``private`` run the tasks hold text of customers:
    nothing that may quote it goes into results."""

    concurrency: int = 16
    max_cost_usd: float | None = None
    deadline: Deadline | None = None
    patience: Patience = field(default_factory=Patience)
    mock: bool = False
    seed: int | None = None
    commit: str | None = None
    allow_unsandboxed: bool = False
    private: bool = False
