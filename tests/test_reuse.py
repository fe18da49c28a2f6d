"""What stands in for calls: the same question, live, and young enough however often it was handed on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes.artifacts import AT, CANDIDATE, ORIGINAL, measurement
from tests.fakes.sums import sums
from tjbench.compare.artifact import Artifact, EarlyStopRecord, Flag
from tjbench.compare.pair import Trial
from tjbench.compare.reused import age_days
from tjbench.config import ModelSpec
from tjbench.models.model import Sampling
from tjbench.reuse import Asked, stored_outcomes

(TASK,) = sums(1).tasks
ASKED = Asked(
    suite="sums",
    spec=ModelSpec.parse(ORIGINAL),
    sampling=Sampling(),
    samples=1,
    scorer_version="1",
    judge=None,
)


def artifact(*, flags: tuple[Flag, ...] = (), mark: str = "p") -> Artifact:
    return measurement(
        mark, "f", suite="sums", task_ids=[TASK.id], prompts=TASK.prompt_hash, checks=TASK.check_hash, flags=flags
    )


def found(*artifacts: Artifact, reuse: str = "original", days: float = 0, asked: Asked = ASKED) -> Trial | None:
    named = {f"tjbench_{number}.json": each for number, each in enumerate(artifacts)}
    stored = stored_outcomes(named, reuse=reuse, max_age_days=30, now=AT + timedelta(days=days))
    return stored.find(asked, TASK, is_original=asked.spec == ASKED.spec)


def test_an_outcome_says_which_artifact_it_is_from_and_since_when() -> None:
    trial = found(artifact(), days=12)
    assert trial is not None
    assert (trial.passes, trial.reused_from) == (1, "artifact:tjbench_0.json, 2026-01-02T03:04:05+00:00")
    assert age_days(trial, AT + timedelta(days=12)) == 12
    assert found(artifact(), days=31) is None


def test_a_chain_does_not_make_an_outcome_young() -> None:
    first = found(artifact())
    assert first is not None
    (task,) = artifact().tasks
    later = artifact().model_copy(
        update={"created_at": AT + timedelta(days=25), "tasks": (task.model_copy(update={"original": first}),)}
    )
    kept = found(later, days=29)
    assert kept is not None
    assert kept.reused_from == first.reused_from
    assert found(later, days=31) is None


def test_only_the_sides_that_the_policy_names() -> None:
    candidate = replace(ASKED, spec=ModelSpec.parse(CANDIDATE))
    assert found(artifact(), reuse="never") is None
    assert found(artifact(), reuse="original", asked=candidate) is None
    assert found(artifact(), reuse="all", asked=candidate) is not None


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, sampling=Sampling(temperature=0.5)),
        replace(ASKED, sampling=Sampling(max_tokens=9)),
        replace(ASKED, samples=2),
        replace(ASKED, scorer_version="2"),
        replace(ASKED, judge="p:m"),
        replace(ASKED, suite="others"),
    ],
)
def test_another_question_is_asked(other: Asked) -> None:
    assert found(artifact(), asked=other) is None


def test_scripted_unscored_and_changed_tasks_are_asked() -> None:
    assert found(artifact(flags=(Flag.MOCK,))) is None
    assert found(artifact(mark="u")) is None
    (task,) = artifact().tasks
    for field in ("prompt_hash", "check_hash"):
        changed = artifact().model_copy(update={"tasks": (task.model_copy(update={field: "other"}),)})
        assert found(changed) is None


def test_the_tasks_that_made_a_row_stop_early_are_asked() -> None:
    record = EarlyStopRecord(e_value=56.8, n_used=1, n_planned=1, e_needed=40)
    assert found(artifact().model_copy(update={"early_stop": record})) is not None
    stopped = record.model_copy(update={"n_planned": 90})
    assert found(artifact().model_copy(update={"early_stop": stopped})) is None
