"""What every reader brings: one outcome a sample, and what its files say about how they came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import TypeVar

from tjbench.errors import UsageError

FAILED = "failed"
"""The cause of a failure that the tool gives no cause of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One sample of one task on one model; ``model`` is its name in ``Results.models`` and ``where`` its place.

    ``passed`` is ``None`` where nothing was judged. Tokens are in disjoint buckets; ``None`` is unknown, as is a
    ``prompt`` or ``check`` without a hash.
    """

    suite: str | None = None
    model: str
    task_id: str
    sample: str = ""
    passed: bool | None
    cause: str | None = None
    detail: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    latency_s: float | None = None
    prompt: str | None = None
    check: str | None = None
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What one or more files of a tool hold.

    ``models`` has the names of all models seen, in order, each with the ``provider:model`` forms it goes by; a model
    without any is one that its file does not name. ``notes`` are sentences about what was chosen or left alone.
    """

    outcomes: Sequence[Outcome]
    models: Mapping[str, tuple[str, ...]]
    tool_version: str | None = None
    measured_at: datetime | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    judge: str | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What decides where a tool leaves it open: which of several ``metric``s, and from which score on it passes."""

    metric: str | None = None
    threshold: float | None = None


Agreed = TypeVar("Agreed", str, int, float)

Reader = Callable[[Sequence[Path], Choice], Results]
"""Reads the files of one tool. Raises ``UsageError`` with file, place and what is wrong."""


@dataclass(slots=True)
class Gathered:
    """Collects what several files hold, and keeps of their settings what they agree on."""

    outcomes: list[Outcome] = field(default_factory=list)
    models: dict[str, tuple[str, ...]] = field(default_factory=dict)
    versions: list[str | None] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    temperatures: list[float | None] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)
    judges: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def results(self) -> Results:
        return Results(
            outcomes=self.outcomes,
            models=self.models,
            tool_version=_agreed(self.versions),
            measured_at=max(self.times, default=None),
            temperature=_agreed(self.temperatures),
            max_tokens=_agreed(self.limits),
            judge=", ".join(sorted(self.judges)) or None,
            notes=tuple(self.notes),
        )


def _agreed(values: Sequence[Agreed | None]) -> Agreed | None:
    return values[0] if values and all(value == values[0] for value in values) else None


def passed_at(value: object, choice: Choice, metric: str, where: str) -> bool | None:
    """Whether a score passes: 1 does and 0 does not; in between the threshold decides. NaN is not judged.

    Raises ``UsageError`` for a score that is neither, or without a threshold could be either.
    """
    if isinstance(value, bool):
        return value
    if not isinstance(value, int | float):
        raise UsageError(
            f"{where}: {metric} is {value!r:.60}", why="a pass is told from a fail by a number from 0 to 1"
        )
    if isnan(value):
        return None
    if choice.threshold is not None:
        return value >= choice.threshold
    if value in (0, 1):
        return value == 1
    raise UsageError(
        f"{where}: {metric} is {value:g}, neither a pass (1) nor a fail (0)",
        fix="say from which score on it passes: --threshold 0.5, or name another score: --metric",
    )
