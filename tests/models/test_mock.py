from __future__ import annotations

import pytest

from tjbench.config import ModelSpec
from tjbench.models.mock import MockModel
from tjbench.models.model import ModelError, Request, Sampling, Trouble
from tjbench.pricing import Usage

SPEC = ModelSpec("anthropic", "claude-opus-4-7")
TASKS = [f"task/{n}" for n in range(500)]
CANNED = {task: ("right " + task, "wrong") for task in TASKS}


def ask(model: MockModel, task: str, sample: int = 0) -> str:
    return model.answer(request(task, sample)).text


def request(task: str, sample: int = 0) -> Request:
    return Request(task_id=task, sample=sample, messages=({"role": "user", "content": "x" * 9},), sampling=Sampling())


def right(accuracy: float, seed: int = 0, spec: ModelSpec = SPEC, sample: int = 0) -> set[str]:
    model = MockModel(spec, CANNED, accuracy=accuracy, seed=seed)
    return {task for task in TASKS if ask(model, task, sample).startswith("right")}


def test_same_seed_gives_the_same_answers_and_another_seed_or_model_or_sample_gives_others() -> None:
    assert right(0.5) == right(0.5)
    assert right(0.5) != right(0.5, seed=1)
    assert right(0.5) != right(0.5, spec=ModelSpec("anthropic", "claude-haiku-4-5"))
    assert right(0.5) != right(0.5, sample=1)


def test_lower_accuracy_fails_a_superset_of_tasks() -> None:
    assert right(0.3) < right(0.6) < right(0.9)


def test_accuracy_is_the_rate_of_right_answers() -> None:
    assert right(0.0) == set()
    assert right(1.0) == set(TASKS)
    assert abs(len(right(0.8)) / 500 - 0.8) < 4 * (0.8 * 0.2 / 500) ** 0.5


def test_usage_is_four_characters_a_token_and_there_is_no_latency() -> None:
    response = MockModel(SPEC, {"a": ("12345", "")}, accuracy=1).answer(request("a"))
    assert response.usage == Usage(input=3, output=2)
    assert response.latency_s is None
    assert response.reused_from is None


def test_task_without_scripted_answer_ends_the_run() -> None:
    with pytest.raises(ModelError, match="no scripted answer for task other") as caught:
        MockModel(SPEC, CANNED, accuracy=1).answer(request("other"))
    assert caught.value.trouble is Trouble.NOT_FOUND
    assert caught.value.trouble.permanent


def test_accuracy_outside_zero_to_one_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="accuracy"):
        MockModel(SPEC, CANNED, accuracy=1.5)
