"""When a regression is so clear that no more tasks need to be asked: an e-process over tasks in seeded order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from random import Random

from tjbench.compare.artifact import LEAST_EVIDENCE, Artifact, RowKey, TaskRecord
from tjbench.compare.matrix import newest_per_key
from tjbench.compare.pair import Pair, Rule, compare, tasks
from tjbench.compare.stats import Verdict, e_value

_LARGEST = 1e300
"""The most that a JSON number holds for every reader."""


def evidence(pairs: Iterable[Pair]) -> float:
    """E(b, c) of `e_value` over the scored pairs, of one sample a task each."""
    changes = [pair.change for pair in pairs if pair.scored]
    return _evidence(sum(change < 0 for change in changes), sum(change > 0 for change in changes))


def _evidence(b: int, c: int) -> float:
    found = e_value(b, c)
    return _LARGEST if found == inf else found


def evidence_needed(rows: int, alpha: float) -> float:
    """The evidence at which each of ``rows`` rows that may stop does so: all of them together stop falsely with at most
    ``alpha / 2`` (Ville's inequality, Bonferroni), which leaves ``alpha / 2`` to the tests of those that do not."""
    return max(LEAST_EVIDENCE, 2 * max(1, rows) / alpha)


def kept_whole(baseline: Iterable[Artifact], version: str) -> dict[RowKey, str]:
    """Rows that do not stop since of their baseline, with why; ``version`` is the selected tokenjam version."""
    reasons = {}
    for key, artifact in newest_per_key(baseline, version)[0].items():
        if artifact.stopped:
            reasons[key] = "its baseline stopped early, so this measurement is to be the next one"
        elif artifact.verdict is Verdict.SIGNIFICANT_REGRESSION:
            reasons[key] = "its baseline's candidate is worse than the original too, so that alone is no news"
    return reasons


class Prefix:
    """The first tasks of a row, added one at a time in their order, until they suffice."""

    def __init__(self, rule: Rule, needed: float) -> None:
        self._rule = rule
        self._needed = needed
        self._pairs: list[Pair] = []
        self._b = self._c = 0

    @property
    def n(self) -> int:
        return len(self._pairs)

    def add(self, pair: Pair) -> bool:
        """Whether the tasks so far suffice: as much evidence as is needed, and a verdict of their own that is a
        regression, with unscored tasks looked at as ever."""
        self._pairs.append(pair)
        self._b += pair.scored and pair.change < 0
        self._c += pair.scored and pair.change > 0
        if _evidence(self._b, self._c) < self._needed:
            return False
        return compare(self._pairs, self._rule).verdict is Verdict.SIGNIFICANT_REGRESSION


def place(seed: int | None, suite: str, task_id: str) -> float:
    """A task's place in the seeded order: the same in every row, whatever other tasks there are."""
    return Random(f"{seed or 0}:{suite}:{task_id}").random()


def follow(artifact: Artifact, rule: Rule, needed: float) -> dict[str, float]:
    """What the tasks of ``artifact`` make of its ``early_stop``: their E, and how many of them, in their seeded order,
    suffice; all where fewer do not."""
    pairs = {pair.task_id: pair for pair in _pairs(artifact.tasks)}
    prefix = Prefix(rule, needed)
    for task_id in sorted(pairs, key=lambda task_id: place(artifact.seed, artifact.suite.name, task_id)):
        if prefix.add(pairs[task_id]):
            break
    return {"e_value": evidence(pairs.values()), "n_used": prefix.n}


def stopped_reason(records: Sequence[TaskRecord], planned: int) -> str:
    """The verdict of a row that stopped, in one sentence: no p-value, which holds for a fixed number of tasks only."""
    changes = [pair.change for pair in _pairs(records) if pair.scored]
    b, c = sum(change < 0 for change in changes), sum(change > 0 for change in changes)
    counts = f"{b} {tasks(b)} broke, {c} recovered out of {len(changes)}"
    return f"{counts}; stopped early after {len(records)} of {planned} {tasks(planned)} (E = {_evidence(b, c):.3g})"


def _pairs(records: Sequence[TaskRecord]) -> list[Pair]:
    return [Pair(task_id=r.task_id, before=r.original, after=r.candidate) for r in records]
