"""How long and how often a call is asked again, by what went wrong with it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tjbench.models.model import ModelError, Trouble

# An answer that did not arrive whole may be billed each time, and one that is not there in time costs minutes.
_TRIES = MappingProxyType({Trouble.RATE_LIMIT: 12, Trouble.UNAVAILABLE: 6, Trouble.TIMEOUT: 2, Trouble.MALFORMED: 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Bounds of asking again; all times in seconds.

    ``tries`` counts askings by what failed; other troubles are never retried. Between them lie ``first_s``, twice that,
    and so on up to ``most_s``, each shortened by up to a half at random, or what the provider asks for; more than
    ``longest_wait_s`` ends the asking of that provider. One asking takes ``ask_s`` at most, and no call is asked again
    ``call_s`` after it began to wait for its turn. A provider that never answers is given up after ``connect_s``
    without a connection, or ``start_s`` of failures; one that did answer before, after ``outage_s`` without an answer;
    one that only limits the rate, after ``limited_s``.
    """

    tries: Mapping[Trouble, int] = field(default_factory=lambda: _TRIES)
    first_s: float = 0.5
    most_s: float = 30.0
    ask_s: float = 300.0
    call_s: float = 600.0
    longest_wait_s: float = 120.0
    connect_s: float = 5.0
    start_s: float = 30.0
    outage_s: float = 120.0
    limited_s: float = 300.0
    growth_pause_s: float = 5.0
    proving_s: float = 2.0

    def pause_s(self, error: ModelError, tries: int) -> float | None:
        """How long to wait after the ``tries``-th failure of this kind; ``None`` when it is not asked again."""
        if tries >= self.tries.get(error.trouble, 1):
            return None
        told = error.retry_after_s
        return self.backoff_s(tries) if told is None else told

    def backoff_s(self, tries: int) -> float:
        """The wait after the ``tries``-th failure, jittered so that calls which failed together come back apart."""
        return min(self.most_s, self.first_s * 2.0 ** min(tries - 1, 30)) * random.uniform(0.5, 1.0)
