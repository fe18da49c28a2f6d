"""How many calls one provider bears at once, learnt from what comes of them: additive increase, multiplicative
decrease (Chiu and Jain, 1989)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.model import ModelError, Trouble
from tjbench.runner.clock import Clock
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience

_PROBES = 2
"""Calls in flight to a model that has not answered yet: what it refuses is learnt from few."""
_OUTAGE_FAILURES = 10
"""So many failures in a row, over all calls, are the provider's and no single call's."""
_SAY_EVERY_S = 5.0
NO_ANSWER = frozenset({Trouble.UNAVAILABLE, Trouble.TIMEOUT})
"""What an outage is made of."""


class Throttle:
    """Calls in flight to one provider, never more than ``most``; safe to share by threads.

    A rate limit halves what is allowed, once for all calls that were begun before it, and all wait as long as the
    provider says; answers let it grow by one a round. Failures pause the growth; many in a row are an outage, in which
    one call at a time probes, beside those that were in flight. What is not borne any longer ends the asking; then
    ``enter`` and ``pause`` raise ``ModelError``.
    """

    def __init__(
        self,
        provider: str,
        most: int,
        patience: Patience,
        *,
        say: Callable[[str], None] = lambda _text: None,
        deadline: Deadline | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._provider = provider
        self._most = most
        self._patience = patience
        self._say = say
        self._deadline = deadline
        self._clock = clock or Clock()
        self._change = threading.Condition()
        self._limit = float(most)
        self._least = most
        self._in_flight: Counter[ModelSpec] = Counter()
        self._proving: dict[ModelSpec, float] = {}
        self._proven: set[ModelSpec] = set()
        self._not_before = self._grow_from = self._shrunk_at = self._outage_at = self._said_at = float("-inf")
        self._failures = self._failed_probes = 0
        self._failing_since: float | None = None
        self._limited_since: float | None = None
        self._probe: float | None = None
        self._answered = False
        self._over: ModelError | None = None
        self._again: Counter[Trouble] = Counter()

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now."""
        return 1 if self.outage else max(1, int(self._limit))

    @property
    def outage(self) -> bool:
        """Whether the provider itself fails, so that no call is to blame."""
        return self._failures >= _OUTAGE_FAILURES

    def now(self) -> float:
        """The instant, as ``enter`` gives it."""
        return self._clock.now()

    def enter(self, spec: ModelSpec) -> float:
        """Waits until one more call may go out; returns the instant. ``leave`` must follow."""
        with self._change:
            while (wait := self._wait_s(spec)) > 0:
                self._clock.wait(self._change, wait)
            self._in_flight[spec] += 1
            now = self._clock.now()
            self._proving.setdefault(spec, now)
            if self.outage:
                self._probe = now
            return now

    def leave(self, spec: ModelSpec, begun: float, error: ModelError | None, *, answered: bool) -> None:
        """Tells what came of a call that was let in at ``begun``: an answer, or ``error``; neither teaches nothing."""
        with self._change:
            flying = self._in_flight.total()
            self._in_flight[spec] -= 1
            if begun == self._probe:
                self._probe = None
            said = ""
            if answered:
                said = self._grow(spec)
            elif error is not None and error.trouble is Trouble.RATE_LIMIT:
                said = self._shrink(begun, flying, error)
            elif error is not None and error.trouble in NO_ANSWER:
                said = self._failed(begun, error)
            elif error is not None and error.trouble not in {Trouble.BUDGET, Trouble.DEADLINE}:
                self._failures, self._failing_since = 0, None  # a refusal is an answer, too
            self._change.notify_all()
        if said:
            self._say(f"{self._provider}: {said}")

    def pause(self, seconds: float, trouble: Trouble) -> None:
        """Waits before a call is made again, or until the asking ends."""
        until = self._clock.now() + seconds
        with self._change:
            self._again[trouble] += 1
            while (left := until - self._clock.now()) > 0:
                self._raise_if_over()
                self._clock.wait(self._change, min(left, self._until_deadline()))

    def end(self, why: ModelError) -> None:
        """Lets no further call out, and ends all waits with ``why``."""
        with self._change:
            self._over = self._over or why
            self._change.notify_all()

    def summary(self) -> str:
        """How often was asked again and how few calls were in flight for it; empty when nothing was."""
        if not self._again:
            return ""
        kinds = ", ".join(f"{count} {trouble}" for trouble, count in self._again.most_common())
        times = "once" if self._again.total() == 1 else f"{self._again.total()} times"
        slowed = f"; at the least {self._least} of {self._most} calls in flight" if self._least < self._most else ""
        return f"{self._provider}: asked again {times} ({kinds}){slowed}"

    def _wait_s(self, spec: ModelSpec) -> float:
        self._raise_if_over()
        now = self._clock.now()
        wait = self._not_before - now
        # A call that hangs from before the outage holds no probe back.
        full = self._probe is not None if self.outage else self._in_flight.total() >= self.allowed
        if wait <= 0 and full:
            wait = 1.0  # at most: leaving notifies
        elif wait <= 0 and spec not in self._proven and self._in_flight[spec] >= _PROBES:
            wait = self._proving[spec] + self._patience.proving_s - now
        return min(wait, self._until_deadline())

    def _raise_if_over(self) -> None:
        if self._over is not None:
            raise ModelError(self._over.trouble, str(self._over))
        if self._deadline is not None and self._deadline.left_s() <= 0:
            raise self._deadline.missed()

    def _until_deadline(self) -> float:
        return max(0.001, self._deadline.left_s()) if self._deadline else float(threading.TIMEOUT_MAX)

    def _grow(self, spec: ModelSpec) -> str:
        said = f"answers again, {max(1, int(self._limit))} in flight" if self.outage else ""
        self._proven.add(spec)
        self._answered = True
        self._failures, self._failing_since, self._limited_since = 0, None, None
        if self._clock.now() >= self._grow_from:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
        return said

    def _shrink(self, begun: float, flying: int, error: ModelError) -> str:
        now = self._clock.now()
        self._failures, self._failing_since = 0, None
        if self._limited_since is None:
            self._limited_since = now
        limited_s, told = now - self._limited_since, error.retry_after_s
        if limited_s >= self._patience.limited_s:
            return self._give_up(error, f"not asked any more after {limited_s:.0f} s of rate limits without an answer")
        if told is not None and told > self._patience.longest_wait_s:
            return self._give_up(error, f"not asked any more, for it wants a wait of {told:.0f} s")
        if told is not None:
            self._not_before = max(self._not_before, now + told)
        if begun < self._shrunk_at:
            return ""
        self._limit = max(1.0, min(self._limit, flying) / 2)
        self._shrunk_at, self._least = now, min(self._least, self.allowed)
        return self._slowly(f"rate limited, {self.allowed} in flight", now)

    def _failed(self, begun: float, error: ModelError) -> str:
        now, was = self._clock.now(), self.outage
        self._grow_from = now + self._patience.growth_pause_s
        self._failures += 1
        if self._failing_since is None:
            self._failing_since = now
        bearable_s, failing_s = self._bearable_s(error), now - self._failing_since
        if failing_s >= bearable_s and (self.outage or not self._answered):
            return self._give_up(error, f"not asked any more after {failing_s:.0f} s of failures")
        if not self.outage:
            return ""
        if not was:
            self._outage_at, self._failed_probes, self._least = now, 0, 1
        elif begun > self._outage_at:
            self._failed_probes += 1
        else:
            return ""
        again = now + self._patience.backoff_s(self._failed_probes + 1)
        self._not_before = max(self._not_before, min(again, self._failing_since + bearable_s))
        return "" if was else f"no answer, waiting up to {bearable_s:.0f} s for one"

    def _give_up(self, error: ModelError, words: str) -> str:
        self._over = self._over or ModelError(error.trouble, f"{words}: {error}")
        return words

    def _bearable_s(self, error: ModelError) -> float:
        if self._answered:
            return self._patience.outage_s
        return self._patience.connect_s if error.unreached else self._patience.start_s

    def _slowly(self, text: str, now: float) -> str:
        if now - self._said_at < _SAY_EVERY_S:
            return ""
        self._said_at = now
        return text
