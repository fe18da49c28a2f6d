from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.model import SPEC, FakeModel, response
from tjbench.config import ModelSpec
from tjbench.models.cached import CachedModel, Journal
from tjbench.models.model import ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.runner.budget import Budget, BudgetedModel, upper_bound


def request(task: str = "t", text: str = "q", max_tokens: int = 100) -> Request:
    messages = ({"role": "user", "content": text},)
    return Request(task_id=task, sample=0, messages=messages, sampling=Sampling(max_tokens=max_tokens))


def by_output(_: ModelSpec, usage: Usage) -> float:
    return usage.output * 0.01


def failing(trouble: Trouble, *, unreached: bool = False, lost: bool = False) -> FakeModel:
    def answer(_: Request) -> Response:
        raise ModelError(trouble, "no", unreached=unreached, lost=lost)

    return FakeModel(answer)


def test_bound_is_all_of_max_tokens_and_a_token_per_two_bytes() -> None:
    assert upper_bound(request(text="é" * 100, max_tokens=7)) == Usage(input=200 // 2 + 16, output=7)


@pytest.mark.parametrize("trouble", list(Trouble))
def test_failed_call_is_charged_only_when_it_may_have_been_answered(trouble: Trouble) -> None:
    budget = Budget(10.0, by_output)
    with pytest.raises(ModelError):
        BudgetedModel(failing(trouble), budget).answer(request())
    charged = trouble in {Trouble.TIMEOUT, Trouble.MALFORMED}
    assert budget.spent_usd == budget.unseen_usd == pytest.approx(1.0 if charged else 0.0)


@pytest.mark.parametrize(
    ("trouble", "how", "dollars"),
    [
        (Trouble.UNAVAILABLE, {"unreached": True}, 0.0),
        (Trouble.TIMEOUT, {"unreached": True}, 0.0),
        (Trouble.UNAVAILABLE, {"lost": True}, 1.0),
    ],
    ids=["no connection", "no connection in time", "reset after the request went out"],
)
def test_a_lost_connection_is_charged_unless_there_was_none(
    trouble: Trouble, how: dict[str, bool], dollars: float
) -> None:
    budget = Budget(10.0, by_output)
    with pytest.raises(ModelError):
        BudgetedModel(failing(trouble, **how), budget).answer(request())
    assert budget.spent_usd == pytest.approx(dollars)


def test_what_was_seen_is_told_by_model_and_apart_from_what_was_not() -> None:
    budget, other = Budget(10.0, by_output), ModelSpec("openai", "other")
    for model in (FakeModel(), FakeModel(), FakeModel(spec=other)):
        BudgetedModel(FakeModel(lambda _: response(usage=Usage(output=20)), model.spec), budget).answer(request())
    with pytest.raises(ModelError):
        BudgetedModel(failing(Trouble.MALFORMED), budget).answer(request())
    assert budget.seen_usd(SPEC) == pytest.approx(2 * 0.20)
    assert budget.seen_usd(other) == pytest.approx(0.20)
    assert budget.answered_usd == pytest.approx(3 * 0.20)
    assert budget.unseen_usd == pytest.approx(1.0)
    assert budget.spent_usd == pytest.approx(3 * 0.20 + 1.0)


def test_answer_without_usage_is_charged_in_full() -> None:
    budget = Budget(10.0, by_output)
    BudgetedModel(FakeModel(lambda _: replace(response(), usage=None)), budget).answer(request())
    assert budget.spent_usd == pytest.approx(1.0)


def test_kept_answer_costs_nothing_even_when_nothing_is_left(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        CachedModel(FakeModel(), journal, endpoint="u").answer(request())
        budget = Budget(0.0, by_output)
        model = BudgetedModel(CachedModel(FakeModel(), journal, endpoint="u"), budget)
        assert model.answer(request()).reused_from
        assert budget.spent_usd == 0
        with pytest.raises(ModelError):
            model.answer(request(text="another"))


def test_an_answer_that_was_kept_meanwhile_costs_nothing() -> None:
    budget = Budget(10.0, by_output)
    BudgetedModel(FakeModel(lambda _: replace(response(), reused_from="journal")), budget).answer(request())
    assert budget.spent_usd == 0


def test_call_waits_for_those_in_flight_when_their_reservation_can_make_room() -> None:
    release, inside = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        inside.set()
        assert release.wait(10)
        return response(usage=Usage(output=1))

    budget = Budget(1.5, by_output)  # room for one call of at most $1.00 at a time
    first = threading.Thread(target=BudgetedModel(FakeModel(slow), budget).answer, args=(request(),))
    second = threading.Thread(target=BudgetedModel(FakeModel(slow), budget).answer, args=(request(),))
    first.start()
    assert inside.wait(10)
    second.start()
    second.join(0.1)
    assert second.is_alive()
    assert budget.in_flight(SPEC) == 1
    release.set()
    first.join(10)
    second.join(10)
    assert budget.spent_usd == pytest.approx(0.02)
    assert budget.in_flight(SPEC) == 0
    assert not budget.hit


def test_refusal_names_the_model_and_the_money() -> None:
    with pytest.raises(ModelError, match=rf"{SPEC}: not asked, for the call may cost \$1.0000 and \$0.5000 is left"):
        BudgetedModel(FakeModel(), Budget(0.5, by_output)).answer(request())
