from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.model import FakeModel, response
from tjbench.config import ModelSpec
from tjbench.models.model import Model, ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.runner.budget import Budget
from tjbench.runner.pool import Job, Limits, run_attempts
from tjbench.suites.task import Message, NumberCheck, Task


def jobs(count: int, model: Model) -> Iterator[Job]:
    for number in range(count):
        message = Message(role="user", content="q")
        task = Task(id=f"t{number}", messages=(message,), check=NumberCheck(expected="1"))
        yield Job(task=task, model=model, sampling=Sampling(max_tokens=100))


def fail_from(number: int, trouble: Trouble) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        if int(request.task_id[1:]) >= number:
            raise ModelError(trouble, f"no: {trouble}")
        return response()

    return answer


def test_every_job_comes_back_once_with_its_own_attempt() -> None:
    done = list(run_attempts(jobs(50, FakeModel()), Limits(concurrency=7)))
    assert len(done) == 50
    assert {job.task.id for job, _ in done} == {f"t{n}" for n in range(50)}
    assert all(attempt.text == f"answer to {job.task.id}" == f"answer to {attempt.task_id}" for job, attempt in done)


def test_as_many_calls_as_allowed_are_in_flight_and_never_more() -> None:
    now, most, lock = 0, 0, threading.Lock()
    barrier = threading.Barrier(4, timeout=10)

    def answer(_: Request) -> Response:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        barrier.wait()
        with lock:
            now -= 1
        return response()

    assert len(list(run_attempts(jobs(20, FakeModel(answer)), Limits(concurrency=4)))) == 20
    assert most == 4


def test_attempts_come_as_they_finish_while_others_still_run() -> None:
    release = threading.Event()

    def answer(request: Request) -> Response:
        if request.task_id == "t0":
            assert release.wait(10)
        return response()

    attempts = run_attempts(jobs(3, FakeModel(answer)), Limits(concurrency=2))
    first, second = next(attempts), next(attempts)
    assert {first[0].task.id, second[0].task.id} == {"t1", "t2"}
    release.set()
    assert [job.task.id for job, _ in attempts] == ["t0"]


@pytest.mark.parametrize("trouble", [Trouble.AUTHENTICATION, Trouble.QUOTA, Trouble.NOT_FOUND])
def test_permanent_trouble_ends_the_asking_and_the_rest_is_handed_back_with_it(trouble: Trouble) -> None:
    model = FakeModel(fail_from(5, trouble))
    done = list(run_attempts(jobs(40, model), Limits(concurrency=1)))
    assert len(model.asked) == 6
    assert [attempt.trouble for _, attempt in done] == [None] * 5 + [trouble] * 35
    assert done[-1][1].error == f"not asked, for the run had ended: no: {trouble}"


def test_passing_trouble_does_not_end_the_asking() -> None:
    model = FakeModel(fail_from(5, Trouble.UNAVAILABLE))
    done = list(run_attempts(jobs(20, model), Limits(concurrency=2)))
    assert len(model.asked) == len(done) == 20


def test_on_done_hears_of_every_attempt_one_at_a_time() -> None:
    heard: list[str] = []
    inside = threading.Lock()

    def on_done(job: Job, _: object) -> None:
        assert inside.acquire(blocking=False)
        heard.append(job.task.id)
        inside.release()

    list(run_attempts(jobs(30, FakeModel()), Limits(concurrency=8), on_done=on_done))
    assert sorted(heard) == sorted(f"t{n}" for n in range(30))


def test_bug_in_a_model_comes_out_with_its_own_traceback() -> None:
    def broken(_: Request) -> Response:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(run_attempts(jobs(10, FakeModel(broken)), Limits(concurrency=3)))


def test_leaving_early_stops_the_asking_and_waits_for_calls_in_flight() -> None:
    finished: list[str] = []

    def answer(request: Request) -> Response:
        time.sleep(0.05)
        finished.append(request.task_id)
        return response()

    model = FakeModel(answer)
    with pytest.raises(KeyboardInterrupt):
        for _ in run_attempts(jobs(1000, model), Limits(concurrency=4)):
            raise KeyboardInterrupt
    assert len(finished) == len(model.asked) <= 12
    asked = len(model.asked)
    time.sleep(0.15)
    assert len(model.asked) == asked


def test_cap_stops_spending_before_it_is_passed_and_says_so() -> None:
    # A call costs $0.010 and may cost $0.100 at most (100 tokens of output at $1000 a million), so with a cap of
    # $0.505 calls are made while no more than $0.405 is spent: 41 calls, $0.41, and 80 % of the cap is $0.404.
    model = FakeModel(lambda _: response(usage=Usage(output=10)))
    warnings: list[tuple[float, float]] = []
    budget = Budget(0.505, lambda _, usage: usage.output * 0.001, lambda spent, cap: warnings.append((spent, cap)))
    done = list(run_attempts(jobs(60, model), Limits(concurrency=6, budget=budget)))
    assert len(model.asked) == 41
    assert [attempt.trouble for _, attempt in done].count(Trouble.BUDGET) == 19
    assert budget.spent_usd == pytest.approx(0.41)
    assert budget.hit
    ((spent, cap),) = warnings
    assert (round(spent, 6), cap) == (0.41, 0.505)
    refused = next(attempt for _, attempt in done if attempt.trouble)
    assert (
        refused.error
        == "openai:gpt-test: not asked, for the call may cost $0.1000 and $0.0950 is left of --max-cost-usd"
    )


def test_unknown_price_under_a_cap_comes_out_of_the_run() -> None:
    from tjbench.errors import UsageError

    def price(spec: ModelSpec, _: Usage) -> float:
        raise UsageError(f"the price of {spec} is not known")

    with pytest.raises(UsageError, match="price of openai:gpt-test"):
        list(run_attempts(jobs(3, FakeModel()), Limits(concurrency=2, budget=Budget(1.0, price))))
