"""Many attempts at once: bounded in number and money, handed over as they finish."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue

from tjbench.models.model import Model, Sampling
from tjbench.runner.attempt import Attempt
from tjbench.runner.budget import Budget, BudgetedModel
from tjbench.runner.single import attempt_single
from tjbench.suites.task import Task

_GRACE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One attempt to make: a task, the model that is asked, and which of its samples this is (from 0)."""

    task: Task
    model: Model
    sampling: Sampling
    sample: int = 0


Attempting = Callable[[Task, Model, Sampling, int], Attempt]


def run_attempts(
    jobs: Iterable[Job],
    *,
    concurrency: int,
    budget: Budget | None = None,
    on_done: Callable[[Job, Attempt], None] | None = None,
    attempt: Attempting = attempt_single,
) -> Iterator[tuple[Job, Attempt]]:
    """Makes every job's attempt, at most ``concurrency`` at once, and yields it as it finishes, in any order.

    A permanent trouble ends the asking: jobs that were not begun come back with that trouble and an error that says
    so. ``on_done`` is called from the threads that ask, one call at a time. Leaving the iterator early, also by an
    interrupt, stops the asking and waits a few seconds for calls in flight, so that what they bring is kept.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is at least 1, not {concurrency}")
    return _Pool(jobs, concurrency, budget, on_done, attempt).run()


class _Pool:
    def __init__(
        self,
        jobs: Iterable[Job],
        concurrency: int,
        budget: Budget | None,
        on_done: Callable[[Job, Attempt], None] | None,
        attempt: Attempting,
    ) -> None:
        self._jobs = iter(jobs)
        self._budget = budget
        self._on_done = on_done
        self._attempt = attempt
        self._taking = threading.Lock()
        self._telling = threading.Lock()
        self._stopped = threading.Event()
        self._verdict: Attempt | None = None
        self._done: SimpleQueue[tuple[Job, Attempt] | BaseException | None] = SimpleQueue()
        # Daemons, unlike an executor's threads, do not keep an interrupted program waiting for a slow provider.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(concurrency)]

    def run(self) -> Iterator[tuple[Job, Attempt]]:
        try:
            for thread in self._threads:
                thread.start()
            working = len(self._threads)
            while working:
                match self._done.get():
                    case None:
                        working -= 1
                    case BaseException() as error:
                        raise error
                    case finished:
                        yield finished
        finally:
            self._stop()

    def _stop(self) -> None:
        self._stopped.set()
        deadline = time.monotonic() + _GRACE_S
        for thread in self._threads:
            with suppress(RuntimeError):  # an interrupt may come before all have started
                thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                result = self._make(job)
                if result.trouble is not None and result.trouble.permanent and self._verdict is None:
                    self._verdict = result
                if self._on_done:
                    with self._telling:
                        self._on_done(job, result)
                self._done.put((job, result))
        except BaseException as error:
            self._done.put(error)
        finally:
            self._done.put(None)

    def _next(self) -> Job | None:
        with self._taking:
            return None if self._stopped.is_set() else next(self._jobs, None)

    def _make(self, job: Job) -> Attempt:
        verdict = self._verdict
        if verdict is not None:
            error = f"not asked, for the run had ended: {verdict.error}"
            return Attempt(task_id=job.task.id, sample=job.sample, trouble=verdict.trouble, error=error)
        if self._budget is not None:
            job = replace(job, model=BudgetedModel(job.model, self._budget))
        return self._attempt(job.task, job.model, job.sampling, job.sample)
