"""What a measurement does not hold because the tool that made it did not record it."""

from __future__ import annotations

from collections.abc import Iterator

from tjbench.compare.artifact import UNKNOWN, Artifact


def lacking(artifact: Artifact) -> tuple[str, ...]:
    """Names of what is not recorded; empty for a measurement of ours."""
    return tuple(name for name, is_missing in _checked(artifact) if is_missing)


def _checked(artifact: Artifact) -> Iterator[tuple[str, bool]]:
    used = [trial.usage for task in artifact.tasks for trial in (task.original, task.candidate)]
    yield "prompts", artifact.suite.prompts_revision == UNKNOWN
    yield "checks", artifact.suite.checks_revision == UNKNOWN
    asked = not artifact.mock and artifact.n_scored > 0
    yield "input tokens", asked and not any(usage.input for usage in used)
    yield "output tokens", asked and not any(usage.output for usage in used)
    yield "dollars", not artifact.costs_known
