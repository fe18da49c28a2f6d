"""A run's deadline: what it lets end, what it gives up, and what it never starts."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tests.fakes.model import FakeModel, response
from tjbench.models.model import Model, Request, Response, Sampling, Trouble
from tjbench.runner.attempt import Attempt
from tjbench.runner.deadline import Deadline
from tjbench.runner.patient import Throttles
from tjbench.runner.pool import Job, Limits, run_attempts
from tjbench.suites.task import Message, NumberCheck, Task

HANGS_S = 60.0


def jobs(count: int, model: Model) -> Iterator[Job]:
    for number in range(count):
        task = Task(id=f"t{number}", messages=(Message(role="user", content="q"),), check=NumberCheck(expected="1"))
        yield Job(task=task, model=model, sampling=Sampling(max_tokens=100))


class Clockwork:
    """Answers at once until ``gone_by`` calls; from then on as ``then`` does, past the deadline."""

    def __init__(self, gone_by: int, then: Callable[[], None]) -> None:
        self._numbers = itertools.count(1)
        self._gone_by = gone_by
        self._then = then

    def __call__(self, _: Request) -> Response:
        if next(self._numbers) > self._gone_by:
            self._then()
        return response()


def limits(deadline: Deadline, concurrency: int = 4) -> Limits:
    return Limits(concurrency=concurrency, deadline=deadline, throttles=Throttles(concurrency, deadline=deadline))


def troubles(attempts: list[tuple[Job, Attempt]]) -> Counter[Trouble | None]:
    return Counter(attempt.trouble for _, attempt in attempts)


def test_time_left_is_what_the_minutes_leave() -> None:
    deadline = Deadline(minutes=2, begun=time.monotonic() - 30)
    assert 80 < deadline.left_s() <= 90
    assert -10 >= Deadline(minutes=2, begun=time.monotonic() - 130).left_s() > -20


def test_after_the_deadline_no_call_starts_and_every_job_comes_back() -> None:
    model = FakeModel()
    passed = Deadline(minutes=1, begun=time.monotonic() - 61)
    done = list(run_attempts(jobs(2500, model), limits(passed)))
    assert model.asked == []
    assert len({job.task.id for job, _ in done}) == len(done) == 2500
    assert troubles(done) == {Trouble.DEADLINE: 2500}
    assert {attempt.error for _, attempt in done} == {"not asked after --deadline-minutes 1"}


def test_calls_in_flight_may_end_within_the_grace_and_are_kept() -> None:
    deadline = Deadline(minutes=0.2 / 60, grace_s=HANGS_S)
    model = FakeModel(Clockwork(6, lambda: time.sleep(max(0, deadline.left_s()) + 0.1)))
    done = list(run_attempts(jobs(50, model), limits(deadline)))
    asked = len(model.asked)
    assert asked <= 6 + 4
    assert troubles(done) == Counter({None: asked, Trouble.DEADLINE: 50 - asked})


def test_what_is_in_flight_when_the_grace_ends_is_given_up_and_not_waited_for() -> None:
    release = threading.Event()
    deadline = Deadline(minutes=0.2 / 60, grace_s=0.1)

    def hang() -> None:
        release.wait(HANGS_S)

    model = FakeModel(Clockwork(6, hang))
    begun = time.monotonic()
    try:
        done = list(run_attempts(jobs(3000, model), limits(deadline)))
        assert time.monotonic() - begun < HANGS_S / 2
    finally:
        release.set()
    assert len({job.task.id for job, _ in done}) == len(done) == 3000
    words = "given up unanswered, perhaps billed, 0.1 s after --deadline-minutes 0.00333333"
    given_up = [attempt for _, attempt in done if attempt.error == words]
    answered = min(6, len(model.asked))
    assert len(given_up) == len(model.asked) - answered <= 4
    assert troubles(done) == Counter({None: answered, Trouble.DEADLINE: 3000 - answered})


def test_without_a_deadline_none_is_missed() -> None:
    assert troubles(list(run_attempts(jobs(20, FakeModel()), Limits(concurrency=2)))) == {None: 20}
