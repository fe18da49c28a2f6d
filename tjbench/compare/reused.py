"""Outcomes of a stored artifact that stand in for calls: since when, and how many of a measurement's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import Reused
from tjbench.compare.pair import Trial

_MEASURED_AT = re.compile(r", (\d{4}-\d{2}-\d{2}T\S+)$")


def measured_at(trial: Trial) -> datetime | None:
    """When a reused outcome was measured; ``None`` where its mark tells no date with a time zone."""
    found = _MEASURED_AT.search(trial.reused_from or "")
    try:
        at = datetime.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
    return at if at and at.tzinfo else None


def age_days(trial: Trial, now: datetime) -> int | None:
    """How many days ago a reused outcome was measured; ``None`` where it is not from an artifact or tells no date."""
    at = measured_at(trial) if trial.is_reused else None
    return None if at is None else max(0, (now - at).days)


def reused_of(head: Artifact) -> Reused | None:
    """How many outcomes of each model are a stored artifact's, and how old the oldest was when ``head`` was made."""
    original = _ages((task.original for task in head.tasks), head.created_at)
    candidate = _ages((task.candidate for task in head.tasks), head.created_at)
    if not original and not candidate:
        return None
    known = [age for age in (*original, *candidate) if age is not None]
    return Reused(original=len(original), candidate=len(candidate), age_days=max(known, default=None))


def _ages(trials: Iterable[Trial], at: datetime) -> list[int | None]:
    return [age_days(trial, at) for trial in trials if trial.is_reused]
