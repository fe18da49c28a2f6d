"""Calls that are made again, by what went wrong with them. Time is given, and nobody waits."""

from __future__ import annotations

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.model import SPEC, FakeModel, response
from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError
from tjbench.models.model import ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.runner.budget import Budget, BudgetedModel
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.runner.patient import Throttles

OTHER = ModelSpec("anthropic", "claude-test")


def request(number: int = 0) -> Request:
    messages = ({"role": "user", "content": "q"},)
    return Request(task_id=f"t{number}", sample=0, messages=messages, sampling=Sampling(max_tokens=10))


class Script:
    """A model that fails as it is told, one trouble a call, and then answers; with the time that went by."""

    def __init__(
        self, *troubles: Trouble | ModelError, patience: Patience | None = None, spec: ModelSpec = SPEC
    ) -> None:
        self._left = list(troubles)
        self.model = FakeModel(self._answer, spec)
        self.clock = FakeClock()
        self.said: list[str] = []
        self.throttles = Throttles(4, patience=patience, clock=self.clock, say=self.said.append)
        self.patient = self.throttles.patient(self.model)

    def _answer(self, _: Request) -> Response:
        if not self._left:
            return response()
        trouble = self._left.pop(0)
        raise trouble if isinstance(trouble, ModelError) else ModelError(trouble, f"it said {trouble}")

    def refused(self) -> ModelError:
        with pytest.raises(ModelError) as caught:
            self.patient.answer(request())
        return caught.value


@pytest.mark.parametrize(
    ("trouble", "calls"),
    [(Trouble.RATE_LIMIT, 12), (Trouble.UNAVAILABLE, 6), (Trouble.TIMEOUT, 2), (Trouble.MALFORMED, 3)],
)
def test_a_call_is_made_again_so_often_and_no_more(trouble: Trouble, calls: int) -> None:
    lucky = Script(*[trouble] * (calls - 1))
    assert lucky.patient.answer(request()).text == "ok"
    assert len(lucky.model.asked) == calls
    unlucky = Script(*[trouble] * calls)
    assert unlucky.refused().args == (f"it said {trouble} (asked {calls} times)",)
    assert len(unlucky.model.asked) == calls
    assert unlucky.patient.answer(request()).text == "ok"


@pytest.mark.parametrize("trouble", [Trouble.BAD_REQUEST, Trouble.FILTERED, Trouble.BUDGET])
def test_what_asking_again_cannot_mend_is_told_as_it_is_and_ends_nothing(trouble: Trouble) -> None:
    script = Script(trouble)
    error = script.refused()
    assert (error.trouble, str(error)) == (trouble, f"it said {trouble}")
    assert script.patient.answer(request()).text == "ok"
    assert script.clock.waited == []


@pytest.mark.parametrize("trouble", [Trouble.AUTHENTICATION, Trouble.QUOTA, Trouble.NOT_FOUND])
def test_a_permanent_trouble_ends_the_asking_of_every_provider(trouble: Trouble) -> None:
    script = Script(trouble)
    elsewhere, later = FakeModel(spec=OTHER), FakeModel(spec=ModelSpec("groq", "m"))
    there = script.throttles.patient(elsewhere)
    assert there.answer(request()).text == "answer to t0"
    assert str(script.refused()) == f"it said {trouble}"
    for model in (there, script.throttles.patient(later), script.patient):
        with pytest.raises(ModelError) as caught:
            model.answer(request(1))
        assert (caught.value.trouble, str(caught.value)) == (
            trouble,
            f"not asked, for the run had ended: it said {trouble}",
        )
    assert (len(elsewhere.asked), len(later.asked), len(script.model.asked)) == (1, 0, 1)


def test_each_kind_of_trouble_is_counted_apart() -> None:
    script = Script(*[Trouble.MALFORMED, Trouble.TIMEOUT, Trouble.UNAVAILABLE, Trouble.MALFORMED])
    assert script.patient.answer(request()).text == "ok"


def test_the_waits_grow_within_their_bounds() -> None:
    script = Script(*[Trouble.UNAVAILABLE] * 5, patience=Patience(first_s=2, most_s=8))
    script.patient.answer(request())
    assert len(script.clock.waited) == 5
    for waited, full_s in zip(script.clock.waited, (2, 4, 8, 8, 8), strict=True):
        assert full_s / 2 <= waited <= full_s


def test_the_provider_s_own_wait_is_kept_to() -> None:
    script = Script(ModelError(Trouble.RATE_LIMIT, "slow down", retry_after_s=17.5))
    script.patient.answer(request())
    assert sum(script.clock.waited) == 17.5


def test_no_call_is_made_again_after_its_time() -> None:
    """Four waits of 25 s fit into 100 s."""
    slow = ModelError(Trouble.RATE_LIMIT, "slow down", retry_after_s=25)
    script = Script(*[slow] * 12, patience=Patience(call_s=100))
    assert "(asked 5 times)" in str(script.refused())
    assert script.clock.now() == 1000 + 100


def test_an_outage_is_waited_out_however_often_it_takes() -> None:
    """Sixty failures are more than a call bears alone; the provider answers again within its two minutes."""
    patience = Patience(most_s=1, tries={Trouble.UNAVAILABLE: 20})
    script = Script(*[Trouble.UNAVAILABLE] * 60, patience=patience)
    script.throttles.patient(FakeModel()).answer(request())  # it did answer before
    assert script.patient.answer(request()).text == "ok"
    assert len(script.model.asked) == 61


def test_an_outage_that_lasts_ends_the_asking_of_that_provider_alone() -> None:
    patience = Patience(most_s=1, start_s=30, tries={Trouble.UNAVAILABLE: 1000})
    script = Script(*[Trouble.UNAVAILABLE] * 1000, patience=patience)
    error = script.refused()
    assert error.trouble is Trouble.UNAVAILABLE
    assert str(error) in [f"not asked any more after {s} s of failures: it said unavailable" for s in (30, 31)]
    assert script.throttles.patient(FakeModel(spec=OTHER)).answer(request()).text == "answer to t0"


def test_a_deadline_that_passes_between_two_askings_names_what_went_wrong_before() -> None:
    model = FakeModel(Script(ModelError(Trouble.UNAVAILABLE, "HTTP 503", retry_after_s=60))._answer)
    throttles = Throttles(4, deadline=Deadline(minutes=0.2 / 60))
    with pytest.raises(ModelError) as caught:
        throttles.patient(model).answer(request())
    assert caught.value.trouble is Trouble.DEADLINE
    assert str(caught.value) == "not asked after --deadline-minutes 0.00333333; before that: HTTP 503"


def test_each_asking_is_reserved_and_settled_on_its_own_and_none_while_it_waits() -> None:
    """A call may cost 26 tokens; $30 bears one at a time, and what was answered costs 15."""
    script = Script(Trouble.RATE_LIMIT, Trouble.UNAVAILABLE)
    budget = Budget(30, lambda _, usage: usage.input + usage.output)
    held: list[float] = []

    class Watched(FakeClock):
        def wait(self, change: object, seconds: float) -> None:
            held.append(budget._reserved)
            script.clock.pass_by(seconds)

    script.clock.wait = Watched().wait  # type: ignore[method-assign]
    patient = script.throttles.patient(BudgetedModel(script.model, budget))
    assert patient.answer(request()).usage == Usage(input=10, output=5)
    assert held == [0, 0]
    assert budget.spent_usd == 15


def test_a_disk_that_is_full_frees_the_place_it_held() -> None:
    def full(_: Request) -> Response:
        raise IncompleteError("the journal cannot be written")

    throttles = Throttles(1, clock=(clock := FakeClock()))
    for _ in range(3):
        with pytest.raises(IncompleteError):
            throttles.patient(FakeModel(full)).answer(request())
    assert clock.waited == []


def test_what_was_asked_again_is_told_at_the_end() -> None:
    script = Script(Trouble.RATE_LIMIT, Trouble.UNAVAILABLE)
    assert script.throttles.summaries() == ()
    script.patient.answer(request())
    assert script.throttles.summaries() == (
        "openai: asked again 2 times (1 rate_limit, 1 unavailable); at the least 1 of 4 calls in flight",
    )
