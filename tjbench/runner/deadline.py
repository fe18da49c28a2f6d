"""The instant after which a run makes no new call."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tjbench.models.model import ModelError, Trouble

GRACE_S = 30.0
"""Calls in flight at the deadline have this long to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """``minutes`` after ``begun`` (of ``time.monotonic``) no call starts, and ``grace_s`` later none is waited for."""

    minutes: float
    begun: float = field(default_factory=time.monotonic)
    grace_s: float = GRACE_S

    def left_s(self) -> float:
        """Seconds in which calls may start; negative when it has passed."""
        return self.begun + 60 * self.minutes - time.monotonic()

    def missed(self) -> ModelError:
        """Why a call is not made."""
        return ModelError(Trouble.DEADLINE, f"not asked after --deadline-minutes {self.minutes:g}")

    def cut(self) -> ModelError:
        """Why a call in flight has no answer."""
        words = f"given up unanswered, perhaps billed, {self.grace_s:g} s after --deadline-minutes {self.minutes:g}"
        return ModelError(Trouble.DEADLINE, words)
