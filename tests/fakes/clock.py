"""Time that passes only where someone waits."""

from __future__ import annotations

import threading

from tjbench.runner.clock import Clock


class FakeClock(Clock):
    """Waiting takes no time and lasts as long as it is asked for; ``waited`` keeps how long each wait was."""

    def __init__(self) -> None:
        self._now = 1000.0
        self.waited: list[float] = []

    def now(self) -> float:
        return self._now

    def wait(self, change: threading.Condition, seconds: float) -> None:
        self.waited.append(seconds)
        self._now += seconds
        change.wait(0)

    def pass_by(self, seconds: float) -> None:
        self._now += seconds
