"""Many attempts at once: bounded in number, money and time, handed over as they finish."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from tjbench.models.model import Model, ModelError, Sampling, Trouble
from tjbench.runner.attempt import Attempt
from tjbench.runner.budget import Budget, BudgetedModel
from tjbench.runner.daemons import LOOK_UP_S
from tjbench.runner.deadline import Deadline
from tjbench.runner.patient import RUN_ENDED, Throttles
from tjbench.runner.single import attempt_single
from tjbench.suites.task import Task

_GRACE_S = 5.0
_AHEAD = 1000
"""Jobs that wait for one provider at most while another's are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """One attempt to make: a task, the model that is asked, and which of its samples this is (from 0)."""

    task: Task
    model: Model
    sampling: Sampling
    sample: int = 0


Attempting = Callable[[Task, Model, Sampling, int], Attempt]
Told = Callable[[Job, Attempt], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a run: ``concurrency`` calls in flight to each provider, money, and time. Without ``throttles``
    each call is made once, as fast as it can be."""

    concurrency: int
    budget: Budget | None = None
    throttles: Throttles | None = None
    deadline: Deadline | None = None

    def held(self, model: Model) -> Model:
        """``model`` within these bounds."""
        budgeted = BudgetedModel(model, self.budget) if self.budget else model
        return self.throttles.patient(budgeted) if self.throttles else budgeted


def run_attempts(
    jobs: Iterable[Job], limits: Limits, *, on_done: Told | None = None, attempt: Attempting = attempt_single
) -> Iterator[tuple[Job, Attempt]]:
    """Makes every job's attempt, at most ``limits.concurrency`` at once at each provider, and yields it as it
    finishes, in any order. Jobs are taken as they are needed, up to a thousand ahead.

    A permanent trouble ends the asking: jobs that were not begun come back with that trouble and an error that says
    so. After the deadline no call starts, and what is in flight when its grace ends comes back without an answer.
    ``on_done`` is called from the threads that ask, one call at a time. Leaving the iterator early, also by an
    interrupt, stops the asking and waits a few seconds for calls in flight, so that what they bring is kept.
    """
    if limits.concurrency < 1:
        raise ValueError(f"concurrency is at least 1, not {limits.concurrency}")
    return _Pool(jobs, limits, on_done, attempt).run()


@dataclass(slots=True, eq=False)
class _Lane:
    """The jobs that wait for one provider, and the threads that ask it."""

    jobs: deque[Job] = field(default_factory=deque)
    threads: int = 0


class _Pool:
    """One thread deals the jobs to lanes, each lane's threads ask, and the caller's thread hands over."""

    def __init__(self, jobs: Iterable[Job], limits: Limits, on_done: Told | None, attempt: Attempting) -> None:
        self._jobs = iter(jobs)
        self._limits = limits
        self._on_done = on_done
        self._attempt = attempt
        self._telling = threading.Lock()
        self._change = threading.Condition()
        self._lanes: dict[str, _Lane] = {}
        self._in_flight: dict[int, Job] = {}
        self._threads: list[threading.Thread] = []
        self._working = 0
        self._dealt = self._stopped = False
        self._verdict: Attempt | None = None
        self._done: SimpleQueue[tuple[Job, Attempt] | BaseException | None] = SimpleQueue()

    def run(self) -> Iterator[tuple[Job, Attempt]]:
        try:
            self._start(self._deal)
            while True:
                try:
                    item = self._done.get(timeout=min(LOOK_UP_S, self._wait_s()))
                except Empty:
                    if self._wait_s() > 0:
                        continue
                    yield from self._cut()
                    return
                match item:
                    case None:
                        self._stopped = True
                        return
                    case BaseException() as error:
                        raise error
                    case finished:
                        yield finished
        finally:
            self._stop()

    def _start(self, work: Callable[[], None]) -> None:
        """Daemons, unlike an executor's threads, do not keep an interrupted program waiting for a slow provider."""

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._done.put(error)
            finally:
                with self._change:
                    self._working -= 1
                    if not self._working:
                        self._done.put(None)

        thread = threading.Thread(target=run, daemon=True)
        with self._change:
            self._working += 1
            self._threads.append(thread)
        thread.start()

    def _deal(self) -> None:
        try:
            for job in self._jobs:
                with self._change:
                    lane = self._lanes.setdefault(job.model.spec.provider, _Lane())
                    while len(lane.jobs) >= _AHEAD and not self._stopped:
                        self._change.wait()
                    lane.jobs.append(job)
                    more = lane.threads < self._limits.concurrency
                    lane.threads += more
                    self._change.notify_all()
                    if self._stopped:
                        return
                if more:
                    self._start(lambda lane=lane: self._work(lane))  # type: ignore[misc]
        finally:
            with self._change:
                self._dealt = True
                self._change.notify_all()

    def _work(self, lane: _Lane) -> None:
        while (job := self._next(lane)) is not None:
            result = self._make(job)
            if result.trouble is not None and result.trouble.permanent and self._verdict is None:
                self._verdict = result
            if self._on_done:
                with self._telling:
                    self._on_done(job, result)
            with self._change:
                if self._in_flight.pop(id(job), None) is not None:  # else it was cut, and has come back already
                    self._done.put((job, result))

    def _next(self, lane: _Lane) -> Job | None:
        with self._change:
            while not (lane.jobs or self._dealt or self._stopped):
                self._change.wait()
            if self._stopped or not lane.jobs:
                return None
            job = lane.jobs.popleft()
            self._in_flight[id(job)] = job
            if len(lane.jobs) == _AHEAD - 1:
                self._change.notify_all()
            return job

    def _make(self, job: Job) -> Attempt:
        limits, verdict = self._limits, self._verdict
        if verdict is not None:
            return Attempt(task_id=job.task.id, sample=job.sample, trouble=verdict.trouble, error=_ended(verdict))
        if limits.deadline is not None and limits.deadline.left_s() <= 0:
            return Attempt.failed(job.task.id, job.sample, limits.deadline.missed())
        return self._attempt(job.task, limits.held(job.model), job.sampling, job.sample)

    def _wait_s(self) -> float:
        deadline = self._limits.deadline
        return math.inf if deadline is None else max(0.0, deadline.left_s() + deadline.grace_s)

    def _cut(self) -> Iterator[tuple[Job, Attempt]]:
        """Everything that is left when the deadline's grace has ended, without waiting for any of it."""
        deadline = self._limits.deadline
        assert deadline is not None
        with self._change:
            self._stopped = True
            flying, self._in_flight = list(self._in_flight.values()), {}
            self._change.notify_all()
            while not self._dealt:
                self._change.wait()
            waiting = [job for lane in self._lanes.values() for job in lane.jobs]
        while True:
            try:
                item = self._done.get_nowait()
            except Empty:
                break
            if isinstance(item, BaseException):
                raise item
            if item is not None:
                yield item
        yield from ((job, Attempt.failed(job.task.id, job.sample, deadline.cut())) for job in flying)
        for jobs in (waiting, self._jobs):
            yield from ((job, Attempt.failed(job.task.id, job.sample, deadline.missed())) for job in jobs)

    def _stop(self) -> None:
        with self._change:
            ended, self._stopped = self._stopped, True
            self._change.notify_all()
            threads = list(self._threads)
        if not ended and self._limits.throttles:
            self._limits.throttles.end(ModelError(Trouble.UNAVAILABLE, "not asked, for the run was left"))
        until = time.monotonic() + (0.0 if ended else _GRACE_S)
        for thread in threads:
            with suppress(RuntimeError):  # an interrupt may come before all have started
                thread.join(max(0.0, until - time.monotonic()))


def _ended(verdict: Attempt) -> str:
    return verdict.error if verdict.error.startswith(RUN_ENDED) else f"{RUN_ENDED}: {verdict.error}"
