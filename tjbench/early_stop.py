"""Follows rows task by task in their seeded order, and asks nothing more where every row has its answer."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from tjbench.compare.early_stop import Prefix
from tjbench.compare.pair import Pair, Rule

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedTask(Generic[Key, Result]):
    """A task as the attempts it waits for, none where all is known, and how they make its pair."""

    task_id: str
    keys: tuple[Key, ...]
    pair: Callable[[Mapping[Key, Result]], Pair]


class FollowedRow(Generic[Key, Result]):
    """One row: its tasks in seeded order. At the evidence ``needed`` it stops; without, it never does."""

    def __init__(self, tasks: Sequence[FollowedTask[Key, Result]], rule: Rule, needed: float | None) -> None:
        self.tasks = tasks
        self._needed = needed
        self._prefix = Prefix(rule, needed or 0.0)
        self._unsettled = {task.task_id: len(task.keys) for task in tasks if task.keys}
        self.places = {key: place for place, task in enumerate(tasks) for key in task.keys}
        self.stopped = False

    @property
    def used(self) -> tuple[str, ...]:
        """Ids of the tasks that the row rests on, in their order."""
        return tuple(task.task_id for task in (self.tasks[: self._prefix.n] if self.stopped else self.tasks))

    @property
    def n_settled(self) -> int:
        """How many tasks have all their scores, wherever they stand."""
        return len(self.tasks) - len(self._unsettled)

    def settle(self, key: Key, results: Mapping[Key, Result]) -> None:
        """Hear of one more scored attempt, which is among ``results``."""
        task_id = self.tasks[self.places[key]].task_id
        self._unsettled[task_id] -= 1
        if not self._unsettled[task_id]:
            del self._unsettled[task_id]
        self.advance(results)

    def advance(self, results: Mapping[Key, Result]) -> None:
        """Look at each further task of the wholly settled prefix, one at a time, so that timing decides nothing."""
        while self._needed is not None and not self.stopped and self._prefix.n < len(self.tasks):
            task = self.tasks[self._prefix.n]
            if task.task_id in self._unsettled:
                return
            self.stopped = self._prefix.add(task.pair(results))


class Stopper(Generic[Key, Result]):
    """All rows of a run. No attempt of a row is made more than ``ahead`` tasks before its count of settled ones: else
    the faster of two models would be asked everything before the slower one says that it was for nothing."""

    def __init__(self, rows: Sequence[FollowedRow[Key, Result]], ahead: int) -> None:
        self.rows = rows
        self._ahead = ahead
        self._owners: dict[Key, list[FollowedRow[Key, Result]]] = defaultdict(list)
        self._results: dict[Key, Result] = {}
        self._changed = threading.Condition()
        self._closed = False
        for row in rows:
            row.advance(self._results)
            for key in row.places:
                self._owners[key].append(row)

    def wants(self, key: Key) -> bool:
        """Whether a row still needs the attempt; returns when its turn has come."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._is_due(key))
            return not self._closed and not all(row.stopped for row in self._owners[key])

    def _is_due(self, key: Key) -> bool:
        asking = [row for row in self._owners[key] if not row.stopped]
        return not asking or any(row.places[key] < row.n_settled + self._ahead for row in asking)

    def settled(self, key: Key, result: Result) -> None:
        """Hear of a scored attempt."""
        with self._changed:
            self._results[key] = result
            for row in self._owners[key]:
                row.settle(key, self._results)
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def closed_by_errors(self) -> Iterator[None]:
        """What fails within is never settled, and nobody shall wait for it."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """The run is left: nobody waits and nothing is wanted any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
