"""Threads that an interrupted program does not wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
LOOK_UP_S = 1.0
"""A signal that comes just before a wait begins does not end it, so no wait of the main thread is longer."""


class Daemons:
    """At most ``workers`` calls at once. Leaving the ``with`` block waits for all of them; after ``drop``, or with an
    error such as an interrupt, it drops those that wait and gives those that run ``grace_s`` seconds.

    An executor of the standard library would be joined at the interpreter's end, however slow its calls are.
    """

    def __init__(self, workers: int, *, name: str, grace_s: float) -> None:
        self._workers = workers
        self._name = name
        self._grace_s = grace_s
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._dropped = threading.Event()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run ``call`` on a thread as soon as one is free."""
        future: Future[T] = Future()
        self._tasks.put((future, call))
        if len(self._threads) < self._workers:
            thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def drop(self) -> None:
        """Begins no call any more."""
        self._dropped.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.drop()
        for _ in self._threads:
            self._tasks.put(None)
        deadline = time.monotonic() + self._grace_s if self._dropped.is_set() else None
        for thread in self._threads:
            with suppress(RuntimeError):  # an interrupt may come before the last one has started
                thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, call = task
            if self._dropped.is_set():
                future.cancel()
            if not future.set_running_or_notify_cancel():  # else those who wait for the future never learn of it
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


def awaited(future: Future[T]) -> T:
    """What ``future`` brings, waited for in steps that an interrupt can end."""
    while not future.done():
        wait([future], timeout=LOOK_UP_S)
    return future.result()
