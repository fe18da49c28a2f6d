"""How many calls a provider gets at once, by what comes of them. Time is given, and nobody waits."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.model import SPEC
from tjbench.config import ModelSpec
from tjbench.models.model import ModelError, Trouble
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.runner.throttle import Throttle

OUTAGE = 10
"""Failures in a row that make one, as docs/engine.md says."""


class Provider:
    """A throttle with the calls that were let in, each of which ends as the test says."""

    def __init__(self, most: int = 16, patience: Patience | None = None) -> None:
        self.clock = FakeClock()
        self.said: list[str] = []
        self.throttle = Throttle("openai", most, patience or Patience(), say=self.said.append, clock=self.clock)

    def enter(self, spec: ModelSpec = SPEC) -> float:
        return self.throttle.enter(spec)

    def answered(self, *calls: float, spec: ModelSpec = SPEC) -> None:
        for begun in calls:
            self.throttle.leave(spec, begun, None, answered=True)

    def failed(self, *calls: float, trouble: Trouble = Trouble.UNAVAILABLE, **more: float | bool) -> None:
        for begun in calls:
            error = ModelError(trouble, f"openai:gpt-test: {trouble}", **more)  # type: ignore[arg-type]
            self.throttle.leave(SPEC, begun, error, answered=False)

    def proven(self) -> Provider:
        """The same after one answer, so that as many calls go out as are allowed."""
        self.answered(self.enter())
        return self

    def full(self) -> list[float]:
        """As many calls in flight as are allowed."""
        return [self.enter() for _ in range(self.throttle.allowed)]

    def in_outage(self) -> Provider:
        self.failed(*[self.enter() for _ in range(OUTAGE)])
        assert self.throttle.outage
        return self


def is_let_in(provider: Provider) -> bool:
    """Whether a call goes out without any wait."""
    before = len(provider.clock.waited)
    provider.enter()
    return len(provider.clock.waited) == before


# --- growing and shrinking


def test_it_begins_with_as_many_as_the_user_allows() -> None:
    assert Provider(16).throttle.allowed == 16


def test_a_rate_limit_halves_what_is_in_flight_once_for_all_that_were_begun_before_it() -> None:
    provider = Provider(16).proven()
    first, *others = provider.full()
    provider.clock.pass_by(1)
    provider.failed(first, trouble=Trouble.RATE_LIMIT)
    assert provider.throttle.allowed == 8
    provider.failed(*others, trouble=Trouble.RATE_LIMIT)
    assert provider.throttle.allowed == 8
    provider.failed(provider.enter(), trouble=Trouble.RATE_LIMIT)  # begun after the halving, and alone in flight
    assert provider.throttle.allowed == 1


def test_each_round_of_limits_halves_again_down_to_one() -> None:
    provider, allowed = Provider(16).proven(), []
    for _ in range(6):
        calls = provider.full()
        provider.clock.pass_by(1)
        provider.failed(*calls, trouble=Trouble.RATE_LIMIT)
        allowed.append(provider.throttle.allowed)
    assert allowed == [8, 4, 2, 1, 1, 1]


def test_answers_let_it_grow_by_one_a_round_and_never_past_the_user_s_bound() -> None:
    provider = Provider(4).proven()
    calls = provider.full()
    provider.clock.pass_by(1)
    provider.failed(*calls, trouble=Trouble.RATE_LIMIT)
    grown = [2.0]  # each answer adds one part of the whole: 2, 2.5, 2.9, …
    while grown[-1] < 4:
        grown.append(grown[-1] + 1 / grown[-1])
    for expected in [*grown[1:], 4, 4]:
        provider.answered(provider.enter())
        assert provider.throttle.allowed == min(4, int(expected))


def test_failures_pause_the_growth_and_take_nothing_away() -> None:
    provider = Provider(4, Patience(growth_pause_s=5)).proven()
    calls = provider.full()
    provider.clock.pass_by(1)
    provider.failed(*calls, trouble=Trouble.RATE_LIMIT)
    provider.failed(provider.enter())
    for _ in range(20):
        provider.answered(provider.enter())
    assert provider.throttle.allowed == 2
    provider.clock.pass_by(5)
    for _ in range(20):
        provider.answered(provider.enter())
    assert provider.throttle.allowed == 4


def test_all_calls_wait_as_long_as_the_provider_says() -> None:
    provider = Provider().proven()
    provider.failed(provider.enter(), trouble=Trouble.RATE_LIMIT, retry_after_s=7.5)
    assert provider.clock.waited == []
    begun = provider.clock.now()
    assert provider.enter() == begun + 7.5
    assert provider.clock.waited == [7.5]


def test_the_longer_of_two_waits_holds() -> None:
    provider = Provider().proven()
    calls = provider.full()
    begun = provider.clock.now()
    provider.failed(calls[0], trouble=Trouble.RATE_LIMIT, retry_after_s=9)
    provider.failed(calls[1], trouble=Trouble.RATE_LIMIT, retry_after_s=2)
    provider.answered(*calls[2:])
    assert provider.enter() == begun + 9


@pytest.mark.parametrize("trouble", [Trouble.BAD_REQUEST, Trouble.FILTERED, Trouble.MALFORMED, Trouble.BUDGET])
def test_what_is_no_fault_of_the_provider_s_load_changes_nothing(trouble: Trouble) -> None:
    provider = Provider(8).proven()
    for _ in range(30):
        provider.failed(provider.enter(), trouble=trouble)
    assert (provider.throttle.allowed, provider.throttle.outage, provider.said) == (8, False, [])


def test_never_more_are_in_flight_than_allowed_however_many_ask() -> None:
    throttle = Throttle("openai", 3, Patience())
    lock, now, most, places = threading.Lock(), 0, 0, itertools.cycle((True, True, False))

    def call() -> None:
        nonlocal now, most
        begun = throttle.enter(SPEC)
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1
            answered = next(places)
        error = None if answered else ModelError(Trouble.RATE_LIMIT, "slow down")
        throttle.leave(SPEC, begun, error, answered=answered)

    with ThreadPoolExecutor(12) as pool:
        for future in [pool.submit(call) for _ in range(300)]:
            future.result(timeout=60)
    assert 1 <= most <= 3


# --- the first calls to a model


def test_two_calls_probe_a_model_that_has_not_answered_yet_for_a_while() -> None:
    provider = Provider(16, Patience(proving_s=2))
    assert [is_let_in(provider) for _ in range(2)] == [True, True]
    begun = provider.clock.now()
    assert provider.enter() == begun + 2
    assert is_let_in(provider)


def test_an_answer_of_one_model_proves_that_one_only() -> None:
    provider, other = Provider().proven(), ModelSpec("openai", "other")
    for _ in range(8):
        provider.enter()
    assert provider.clock.waited == []
    for _ in range(3):
        provider.enter(other)
    assert len(provider.clock.waited) == 1


# --- an outage


def test_many_failures_in_a_row_are_an_outage_and_an_answer_ends_it() -> None:
    provider = Provider().proven()
    for number in range(1, OUTAGE):
        provider.failed(provider.enter())
        assert not provider.throttle.outage, number
    provider.failed(provider.enter())
    assert provider.throttle.outage
    assert provider.throttle.allowed == 1
    provider.answered(provider.enter())
    assert not provider.throttle.outage
    assert provider.throttle.allowed == 16
    assert [said.partition(",")[0] for said in provider.said] == ["openai: no answer", "openai: answers again"]


def test_failures_with_answers_between_them_are_none() -> None:
    provider = Provider().proven()
    for _ in range(5):
        provider.failed(*[provider.enter() for _ in range(OUTAGE - 1)])
        provider.answered(provider.enter())
    assert not provider.throttle.outage


def test_in_an_outage_one_call_probes_at_a_time() -> None:
    provider = Provider().proven().in_outage()
    probe = provider.enter()
    waits = len(provider.clock.waited)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(Provider.enter, provider)
        while len(provider.clock.waited) < waits + 3:  # it asks again and again, and is not let in
            pass
        assert not second.done()
        provider.answered(probe)
        second.result(timeout=60)


def test_a_call_that_hangs_from_before_an_outage_holds_no_probe_back() -> None:
    provider = Provider().proven()
    provider.enter()
    provider.in_outage()
    probe = provider.enter()
    assert all(wait <= Patience().first_s for wait in provider.clock.waited)
    provider.answered(probe)
    assert not provider.throttle.outage


def test_probes_come_further_and_further_apart() -> None:
    """Half a second, one, two, four, …, each shortened by up to a half."""
    provider = Provider(patience=Patience(first_s=0.5, most_s=8, outage_s=10**6)).proven().in_outage()
    for full_s in (0.5, 1, 2, 4, 8, 8, 8):
        before = provider.clock.now()
        probe = provider.enter()
        assert full_s / 2 <= probe - before <= full_s
        provider.failed(probe)


def test_calls_that_were_under_way_when_it_began_do_not_put_the_first_probe_off() -> None:
    provider = Provider(64).proven()
    calls = provider.full()
    before = provider.clock.now()
    provider.failed(*calls)
    assert provider.enter() - before <= Patience().first_s


def failing_until_over(provider: Provider, *, unreached: bool) -> tuple[float, ModelError]:
    """How long the provider was asked before it was given up, when each call fails at once; and with what."""
    begun = provider.clock.now()
    with pytest.raises(ModelError) as caught:
        for _ in range(10_000):
            provider.failed(provider.enter(), unreached=unreached)
    return provider.clock.now() - begun, caught.value


@pytest.mark.parametrize(
    ("proven", "unreached", "bound_s"), [(True, False, 120), (True, True, 120), (False, False, 30), (False, True, 5)]
)
def test_an_outage_is_borne_so_long_and_no_longer(proven: bool, unreached: bool, bound_s: float) -> None:
    patience = Patience(connect_s=5, start_s=30, outage_s=120)
    provider = Provider(patience=patience)
    lasted_s, error = failing_until_over(provider.proven() if proven else provider, unreached=unreached)
    assert lasted_s == pytest.approx(bound_s)
    assert error.trouble is Trouble.UNAVAILABLE
    assert str(error) == f"not asked any more after {bound_s} s of failures: openai:gpt-test: unavailable"
    assert provider.said == [
        f"openai: no answer, waiting up to {bound_s} s for one",
        f"openai: not asked any more after {bound_s} s of failures",
    ]


def test_a_provider_that_answers_nothing_but_rate_limits_is_given_up() -> None:
    provider = Provider(patience=Patience(limited_s=300)).proven()
    begun = provider.clock.now()
    with pytest.raises(ModelError, match="300 s of rate limits without an answer") as caught:
        for _ in range(100):
            provider.failed(provider.enter(), trouble=Trouble.RATE_LIMIT, retry_after_s=60)
    assert caught.value.trouble is Trouble.RATE_LIMIT
    assert provider.clock.now() - begun == 300


def test_rate_limits_with_answers_between_them_go_on_for_ever() -> None:
    provider = Provider(patience=Patience(limited_s=300)).proven()
    for _ in range(20):
        provider.failed(provider.enter(), trouble=Trouble.RATE_LIMIT, retry_after_s=60)
        provider.answered(provider.enter())


def test_a_wait_of_hours_ends_the_asking_at_once() -> None:
    provider = Provider(patience=Patience(longest_wait_s=120)).proven()
    provider.failed(provider.enter(), trouble=Trouble.RATE_LIMIT, retry_after_s=3600)
    with pytest.raises(ModelError, match="it wants a wait of 3600 s: openai:gpt-test: rate_limit"):
        provider.enter()
    assert provider.clock.waited == []


# --- what ends the asking


def ends(waiting: Callable[[Throttle], object], end: Callable[[Throttle], None]) -> ModelError:
    """What a thread that waits hears when the asking ends meanwhile; on the machine's own clock."""
    throttle = Throttle("openai", 1, Patience())
    throttle.enter(SPEC)
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        waiting(throttle)

    with ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(wait)
        begun.wait(60)
        end(throttle)
        error = waiter.exception(timeout=30)
    assert isinstance(error, ModelError)
    return error


@pytest.mark.parametrize(
    "waiting", [lambda t: t.enter(SPEC), lambda t: t.pause(10**6, Trouble.TIMEOUT)], ids=["for room", "before a retry"]
)
def test_the_end_of_the_asking_reaches_all_that_wait(waiting: Callable[[Throttle], object]) -> None:
    error = ends(waiting, lambda throttle: throttle.end(ModelError(Trouble.QUOTA, "no money")))
    assert (error.trouble, str(error)) == (Trouble.QUOTA, "no money")


def test_the_first_reason_holds() -> None:
    provider = Provider()
    provider.throttle.end(ModelError(Trouble.QUOTA, "first"))
    provider.throttle.end(ModelError(Trouble.UNAVAILABLE, "second"))
    with pytest.raises(ModelError, match="first"):
        provider.enter()


@pytest.mark.parametrize("wait", ["enter", "pause"])
def test_the_deadline_ends_a_wait(wait: str) -> None:
    throttle = Throttle("openai", 1, Patience(), deadline=Deadline(minutes=0.1 / 60))
    throttle.enter(SPEC)
    with pytest.raises(ModelError) as caught:
        if wait == "enter":
            throttle.enter(SPEC)
        else:
            throttle.pause(10**6, Trouble.UNAVAILABLE)
    assert caught.value.trouble is Trouble.DEADLINE


# --- what is said


def test_a_rate_limit_is_said_at_most_every_five_seconds_and_quotes_nobody() -> None:
    provider = Provider(64).proven()
    for seconds in (0, 1, 3, 2, 1):  # at 0, 1, 4, 6 and 7 s
        provider.clock.pass_by(seconds)
        error = ModelError(Trouble.RATE_LIMIT, "words of the provider, perhaps with the prompt")
        provider.throttle.leave(SPEC, provider.enter(), error, answered=False)
    assert provider.said == ["openai: rate limited, 1 in flight"] * 2


def test_the_summary_counts_what_was_asked_again_and_how_few_calls_were_left() -> None:
    provider = Provider(16).proven()
    assert provider.throttle.summary() == ""
    calls = provider.full()
    provider.clock.pass_by(1)
    provider.failed(calls[0], trouble=Trouble.RATE_LIMIT)
    provider.throttle.pause(1, Trouble.RATE_LIMIT)
    assert provider.throttle.summary() == (
        "openai: asked again once (1 rate_limit); at the least 8 of 16 calls in flight"
    )
    provider.throttle.pause(1, Trouble.UNAVAILABLE)
    provider.throttle.pause(1, Trouble.UNAVAILABLE)
    assert provider.throttle.summary().startswith("openai: asked again 3 times (2 unavailable, 1 rate_limit)")
