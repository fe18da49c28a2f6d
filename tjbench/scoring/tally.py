"""Scores of several samples a task, counted: rates, pass@k and causes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

from tjbench.compare.stats import pass_at_k
from tjbench.scoring.score import Cause, Score

_CLASSES = 100  # an answer's own exception classes are endless; what is kept of them is not
_CLASS = re.compile(r"(\w{1,60})(?=: | at `|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What was counted. ``pass_at_k`` is by k; ``exceptions`` splits the cause ``exception`` by class."""

    n_tasks: int
    n_samples: int
    passed: int
    failed: int
    unscored: int
    pass_at_1: float | None
    pass_at_k: Mapping[str, float]
    causes: Mapping[str, int]
    exceptions: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts by task and cause. An unscored sample says nothing of its answer and counts in no rate."""

    samples: Counter[str] = field(default_factory=Counter)
    scored: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    exceptions: Counter[str] = field(default_factory=Counter)

    def add(self, task_id: str, score: Score) -> None:
        """Count one sample."""
        self.samples[task_id] += 1
        self.scored[task_id] += score.passed is not None
        self.passed[task_id] += score.passed is True
        if score.cause:
            self.causes[str(score.cause)] += 1
        if score.cause is Cause.EXCEPTION:
            found = _CLASS.match(score.detail)
            name = found[1] if found else "other"
            self.exceptions[name if name in self.exceptions or len(self.exceptions) < _CLASSES else "other"] += 1

    def totals(self) -> Totals:
        """Everything counted so far."""
        at_k = self.pass_at_k()
        passed, scored = self.passed.total(), self.scored.total()
        return Totals(
            n_tasks=len(self.samples),
            n_samples=self.samples.total(),
            passed=passed,
            failed=scored - passed,
            unscored=self.samples.total() - scored,
            pass_at_1=at_k.get(1),
            pass_at_k={str(k): value for k, value in at_k.items()},
            causes=dict(self.causes.most_common()),
            exceptions=dict(self.exceptions.most_common()),
        )

    def pass_at_k(self) -> dict[int, float]:
        """pass@k by k, the mean over the tasks with a scored sample. k is 1, every power of two and of ten up to the
        fewest scored samples of such a task, and that number itself."""
        counts = [(n, self.passed[task]) for task, n in self.scored.items() if n]
        most = min((n for n, _ in counts), default=0)
        powers = {base**exponent for base in (2, 10) for exponent in range(most.bit_length())}
        sizes = sorted({k for k in powers if k <= most} | ({most} if most else set()))
        return {k: fsum(pass_at_k(n, c, k) for n, c in counts) / len(counts) for k in sizes}
