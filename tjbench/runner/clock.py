"""Time as calls wait by it."""

from __future__ import annotations

import threading
import time


class Clock:
    """The machine's own."""

    def now(self) -> float:
        """Seconds since some instant."""
        return time.monotonic()

    def wait(self, change: threading.Condition, seconds: float) -> None:
        """Lets go of ``change`` until it is notified, or for ``seconds``."""
        change.wait(seconds)
