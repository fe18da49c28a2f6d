"""Threads that an interrupted program does not wait for."""

from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from tjbench.runner.daemons import Daemons, awaited


def test_every_call_is_made_and_its_result_or_error_kept() -> None:
    with Daemons(3, name="t", grace_s=0) as daemons:
        futures = [daemons.submit(lambda n=n: 10 // n) for n in range(5)]  # type: ignore[misc]
    assert [future.result() for future in futures[1:]] == [10, 5, 3, 2]
    assert isinstance(futures[0].exception(), ZeroDivisionError)


def test_no_more_calls_run_at_once_than_there_are_workers() -> None:
    both = threading.Barrier(2, timeout=60)
    with Daemons(2, name="t", grace_s=0) as daemons:
        names = [daemons.submit(lambda: (both.wait(), threading.current_thread().name)[1]) for _ in range(6)]
    assert {future.result() for future in names} == {"t-0", "t-1"}


def test_an_error_drops_what_waits_and_waits_for_no_call_that_hangs() -> None:
    begun, released = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        released.wait(60)

    with pytest.raises(KeyboardInterrupt), Daemons(1, name="t", grace_s=0) as daemons:
        running = daemons.submit(hang)
        waiting = daemons.submit(hang)
        begun.wait(60)
        raise KeyboardInterrupt
    assert not running.done()
    released.set()
    running.result(60)
    assert wait([waiting], timeout=60).done == {waiting}
    assert waiting.cancelled()


def test_an_error_lets_a_call_under_way_end_within_the_grace() -> None:
    begun = threading.Event()
    with pytest.raises(KeyboardInterrupt), Daemons(1, name="t", grace_s=60) as daemons:
        running = daemons.submit(lambda: begun.wait(60))
        begun.set()
        raise KeyboardInterrupt
    assert running.done()


def test_what_a_future_brings_is_waited_for_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tjbench.runner.daemons.LOOK_UP_S", 0.001)
    release = threading.Event()

    def late() -> str:
        assert release.wait(30)
        return "late"

    with Daemons(2, name="test", grace_s=0) as daemons:
        future = daemons.submit(late)
        daemons.submit(lambda: threading.Timer(0.05, release.set).start())
        assert awaited(future) == "late"
        with pytest.raises(ValueError, match="broken"):
            awaited(daemons.submit(lambda: int("broken")))
