"""How old the outcomes of a stored artifact are that stand in for calls, and how many a row has of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.artifacts import AT, measurement, trial
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import Reused
from tjbench.compare.reused import age_days, reused_of


def mark(days: float) -> str:
    return f"artifact:tjbench_x.json, {(AT - timedelta(days=days)).isoformat()}"


def head(original: list[str | None], candidate: list[str | None]) -> Artifact:
    made = measurement("p" * len(original), "p" * len(original), reused=candidate)
    tasks = tuple(
        task.model_copy(update={"original": replace(task.original, reused_from=source)})
        for task, source in zip(made.tasks, original, strict=True)
    )
    return made.model_copy(update={"tasks": tasks})


def test_the_oldest_outcome_is_told_in_whole_days_before_the_measurement() -> None:
    found = reused_of(head([mark(12.9), mark(3), None], [mark(0.5), None, None]))
    assert found == Reused(original=2, candidate=1, age_days=12)


def test_what_was_called_or_comes_from_an_interrupted_runs_journal_is_not_reused() -> None:
    assert reused_of(head([None], ["journal 2026-01-01T00:00:00+00:00"])) is None


@pytest.mark.parametrize(
    "source", ["artifact:x.json", "artifact:x, 2026-99-99T00:00:00", "artifact:x, 2026-01-01T00:00"]
)
def test_a_mark_without_a_time_has_no_age(source: str) -> None:
    assert age_days(replace(trial("p"), reused_from=source), AT) is None
    assert reused_of(head([source], [None])) == Reused(original=1, candidate=0, age_days=None)


def test_a_clock_that_was_ahead_makes_no_negative_age() -> None:
    assert age_days(replace(trial("p"), reused_from=mark(-3)), AT) == 0
