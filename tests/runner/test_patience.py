"""How long a call waits before it is made again, from the numbers alone."""

from __future__ import annotations

import pytest

from tjbench.models.model import ModelError, Trouble
from tjbench.runner.patience import Patience

RETRIED = {Trouble.RATE_LIMIT: 12, Trouble.UNAVAILABLE: 6, Trouble.TIMEOUT: 2, Trouble.MALFORMED: 3}
"""As docs/engine.md says it: how often a call is made in all, by what goes wrong with it."""


def failure(trouble: Trouble, retry_after_s: float | None = None) -> ModelError:
    return ModelError(trouble, "x", retry_after_s=retry_after_s)


@pytest.mark.parametrize("trouble", Trouble)
def test_each_trouble_has_its_own_bound(trouble: Trouble) -> None:
    tries = 1
    while Patience().pause_s(failure(trouble), tries) is not None:
        tries += 1
    assert tries == RETRIED.get(trouble, 1)


def test_waits_double_up_to_their_bound_and_lose_up_to_a_half_at_random() -> None:
    patience = Patience(first_s=1, most_s=10)
    for tries, full_s in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (1000, 10)):
        drawn = [patience.backoff_s(tries) for _ in range(200)]
        assert full_s / 2 <= min(drawn) < max(drawn) <= full_s
        assert max(drawn) - min(drawn) > full_s / 4, "calls that failed together come back apart"


@pytest.mark.parametrize("told", [0.0, 0.25, 45.0])
def test_the_provider_s_own_wait_is_kept_to(told: float) -> None:
    assert Patience().pause_s(failure(Trouble.RATE_LIMIT, told), 1) == told
    assert Patience().pause_s(failure(Trouble.UNAVAILABLE, told), 5) == told
    assert Patience().pause_s(failure(Trouble.UNAVAILABLE, told), 6) is None
