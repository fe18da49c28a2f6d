from __future__ import annotations

from tests.fakes.model import FakeModel, response
from tjbench.models.model import Finish, ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.runner.single import attempt_single
from tjbench.suites.task import Canned, Message, NumberCheck, Task

TASK = Task(
    id="math/1",
    messages=(Message(role="system", content="Be terse."), Message(role="user", content="2+2?")),
    check=NumberCheck(expected="4"),
    canned=Canned(right="canned-right", wrong="canned-wrong"),
)


def test_messages_go_out_as_they_are_and_canned_answers_never() -> None:
    model = FakeModel()
    attempt_single(TASK, model, Sampling(max_tokens=9, temperature=0.3), 2)
    (request,) = model.asked
    assert request == Request(
        task_id="math/1",
        sample=2,
        messages=({"role": "system", "content": "Be terse."}, {"role": "user", "content": "2+2?"}),
        sampling=Sampling(max_tokens=9, temperature=0.3),
    )
    assert "canned" not in str(request)


def test_answer_becomes_an_attempt_with_all_that_came_with_it() -> None:
    attempt = attempt_single(TASK, FakeModel(lambda _: response("4", finish=Finish.LENGTH)), Sampling(), 1)
    assert (attempt.task_id, attempt.sample, attempt.text) == ("math/1", 1, "4")
    assert (attempt.usage, attempt.finish) == (Usage(input=10, output=5), Finish.LENGTH)
    assert (attempt.latency_s, attempt.request_id) == (0.25, "r1")
    assert (attempt.trouble, attempt.error) == (None, "")


def test_failed_call_becomes_an_attempt_with_its_trouble_and_no_text() -> None:
    def fail(_: Request) -> Response:
        raise ModelError(Trouble.RATE_LIMIT, "openai:gpt-test: HTTP 429: slow down")

    attempt = attempt_single(TASK, FakeModel(fail), Sampling())
    assert attempt.text is None
    assert attempt.usage is None
    assert attempt.trouble is Trouble.RATE_LIMIT
    assert attempt.error == "openai:gpt-test: HTTP 429: slow down"
