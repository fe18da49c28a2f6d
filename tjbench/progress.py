"""Progress for people, on standard error: what became of each model's attempts so far, and how that is shown."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TextIO

from tjbench.config import ModelSpec
from tjbench.display import Display, Line, open_display
from tjbench.models.model import Trouble
from tjbench.report.units import dollars
from tjbench.runner.attempt import Attempt
from tjbench.runner.course import Course
from tjbench.scoring.score import Score

WINDOW_S = 30.0
"""The rate is that of the last so many seconds, so that a run which stands still is seen to."""
STILL_S = 5.0
"""A run that brings nothing for so long is said to stand still."""
_NOT_ASKED = frozenset({Trouble.BUDGET, Trouble.DEADLINE})


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What is known of one model's attempts. ``asked`` holds the instants of those that took a call, in the window."""

    planned: int = 0
    done: int = 0
    passed: int = 0
    unscored: int = 0
    asked: deque[float] = field(default_factory=deque)
    last_asked: float | None = None


class Progress:
    """Counts scored attempts per model, or per whatever else is counted, and shows them on ``stream``: as lines that
    stay in place in a terminal, as a new line every 15 seconds elsewhere, also where nothing moves. ``finish`` must
    follow. Safe to call from many threads; where nobody reads the stream any more, the run goes on."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.RLock()
        self._tallies: dict[str, _Tally] = {}
        self._courses: list[Course] = []
        self._begun = clock()
        self._finished = False
        self._display: Display | None = None

    def begin(self, course: Course) -> None:
        """Hear what is about to be asked; more may follow later."""
        with self._lock:
            self._courses.append(course)
            for spec, planned in course.planned.items():
                self._tally(str(spec)).planned += planned
        self._show()

    def watch(self, spec: ModelSpec, attempt: Attempt, score: Score) -> None:
        """Hear of one scored attempt."""
        self.count(str(spec), score, asked=attempt.reused_from is None and attempt.trouble not in _NOT_ASKED)

    def count(self, name: str, score: Score, *, asked: bool = True) -> None:
        """Count one score under ``name``; ``asked``: it took its time now."""
        with self._lock:
            tally = self._tally(name)
            tally.done += 1
            tally.passed += score.passed is True
            tally.unscored += score.passed is None
            if asked:
                tally.last_asked = self._clock()
                tally.asked.append(tally.last_asked)
        self._show()

    def warn(self, text: str) -> None:
        """Warn of one thing at once."""
        self.say(f"warning: {text}")

    def say(self, text: str) -> None:
        """Say one thing at once, above the lines that stay in place."""
        with suppress(OSError):
            if self._display is not None:
                self._display.say(text)
            else:
                self._stream.write(f"{text}\n")
                self._stream.flush()

    def finish(self) -> None:
        """Say where all models ended, and leave the terminal clean; may be called twice."""
        with self._lock:
            display, self._display, self._finished = self._display, None, True
        if display is not None:
            with suppress(OSError):
                display.close()

    def lines(self) -> list[Line]:
        """How each model stands now."""
        with self._lock:
            now = self._clock()
            return [
                *(Line(name, tuple(self._fields(name, tally, now))) for name, tally in self._tallies.items()),
                *self._judges(),
            ]

    def _show(self) -> None:
        if self._display is None and not self._finished:
            with self._lock:
                self._display = self._display or open_display(self._stream, self.lines)

    def _tally(self, name: str) -> _Tally:
        return self._tallies.setdefault(name, _Tally())

    def _fields(self, name: str, tally: _Tally, now: float) -> Iterator[str]:
        """In the order that they are shown, and empty where nothing can be said."""
        while tally.asked and tally.asked[0] < now - WINDOW_S:
            tally.asked.popleft()
        moving = not self._finished and tally.done != tally.planned
        rate = len(tally.asked) / max(1.0, min(WINDOW_S, now - self._begun))
        yield f"{tally.done}/{tally.planned} done" if tally.planned else f"{tally.done} done"
        yield f"{tally.passed} passed" + (f", {tally.unscored} unscored" if tally.unscored else "")
        yield f"{self._in_flight(name)} in flight" if moving and self._is_metered else ""
        yield f"{rate:.1f}/s" if moving else ""
        yield self._cost(name)
        yield self._left(tally, rate, now) if moving and tally.planned else ""

    def _left(self, tally: _Tally, rate: float, now: float) -> str:
        if rate:
            return f"{timedelta(seconds=round((tally.planned - tally.done) / rate))} left"
        since = tally.last_asked if tally.last_asked is not None else self._begun
        return f"none for {timedelta(seconds=round(now - since))}" if now - since >= STILL_S else ""

    def _judges(self) -> Iterator[Line]:
        judges = dict.fromkeys(str(course.judge) for course in self._courses if course.judge is not None)
        for name in judges:
            if name not in self._tallies:
                flying = "" if self._finished else f"{self._in_flight(name)} in flight"
                yield Line(name, ("judge", "", flying, "", self._cost(name), ""))

    @property
    def _is_metered(self) -> bool:
        return any(course.budget is not None for course in self._courses)

    def _in_flight(self, name: str) -> int:
        spec = ModelSpec.parse(name)
        return sum(course.budget.in_flight(spec) for course in self._courses if course.budget is not None)

    def _cost(self, name: str) -> str:
        if not self._is_metered:
            return ""
        spec = ModelSpec.parse(name)
        return dollars(sum(course.budget.seen_usd(spec) for course in self._courses if course.budget is not None))
