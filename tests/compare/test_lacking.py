"""What a measurement does not hold."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import Artifact
from tjbench.compare.lacking import lacking
from tjbench.pricing import Usage

OURS = measurement("ppf", "pfp")


def using(usage: Usage) -> Artifact:
    tasks = tuple(
        task.model_copy(update={role: replace(getattr(task, role), usage=usage) for role in ("original", "candidate")})
        for task in OURS.tasks
    )
    return OURS.model_copy(update={"tasks": tasks})


def test_a_measurement_of_ours_lacks_nothing() -> None:
    assert lacking(OURS) == ()


def test_tokens_that_nobody_counted_are_named() -> None:
    assert lacking(using(Usage(output=5))) == ("input tokens",)
    assert lacking(using(Usage(input=5))) == ("output tokens",)


def test_scripted_models_and_runs_without_an_answer_lack_no_tokens() -> None:
    assert lacking(using(Usage()).model_copy(update={"mock": True})) == ()
    assert lacking(using(Usage()).model_copy(update={"n_scored": 0})) == ()


def test_unknown_prompts_and_checks_are_named() -> None:
    unknown = OURS.suite.model_copy(update={"prompts_revision": "unknown", "checks_revision": "unknown"})
    assert lacking(OURS.model_copy(update={"suite": unknown})) == ("prompts", "checks")
