"""A run while it lasts, for those who watch it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tjbench.config import ModelSpec
from tjbench.runner.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How many attempts each model is to make, and the ``budget`` that meters its calls; scripted models have none. The
    ``judge`` is asked beside them, as often as answers need it."""

    planned: Mapping[ModelSpec, int]
    judge: ModelSpec | None = None
    budget: Budget | None = None
