"""Progress for people, on standard error: a live line in a terminal, a plain line every 15 seconds elsewhere."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TextIO

from tjbench.config import ModelSpec
from tjbench.runner.attempt import Attempt
from tjbench.scoring.score import Score

PLAIN_SECONDS = 15.0
LIVE_SECONDS = 0.1


class Progress:
    """Counts scored attempts per model, or per whatever else is counted. Safe to call from many threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._lock = threading.Lock()
        self._done: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._unscored: Counter[str] = Counter()
        self._said = time.monotonic()

    def watch(self, spec: ModelSpec, attempt: Attempt, score: Score) -> None:
        """Hear of one scored attempt."""
        self.count(str(spec), score)

    def count(self, name: str, score: Score) -> None:
        """Count one score under ``name``."""
        with self._lock:
            self._done[name] += 1
            self._passed[name] += score.passed is True
            self._unscored[name] += score.passed is None
            now = time.monotonic()
            if now - self._said >= (LIVE_SECONDS if self._live else PLAIN_SECONDS):
                self._said = now
                self._say("\r\x1b[K" if self._live else "", "" if self._live else "\n")

    def warn(self, text: str) -> None:
        """Warn of one thing at once."""
        self.say(f"warning: {text}")

    def say(self, text: str) -> None:
        """Say one thing at once."""
        with self._lock:
            self._stream.write(f"{self._clear()}{text}\n")
            self._stream.flush()

    def finish(self) -> None:
        """Say where all models ended."""
        with self._lock:
            if self._done:
                self._say(self._clear(), "\n")

    def _clear(self) -> str:
        return "\r\x1b[K" if self._live else ""

    def _say(self, before: str, after: str) -> None:
        parts = [
            f"{name}: {count} done, {self._passed[name]} passed"
            + (f", {self._unscored[name]} unscored" if self._unscored[name] else "")
            for name, count in self._done.items()
        ]
        self._stream.write(f"{before}{' · '.join(parts)}{after}")
        self._stream.flush()
