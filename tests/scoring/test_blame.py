"""Failures that look like the harness's are told from those that are the model's own."""

from __future__ import annotations

import pytest

from tjbench.compare.pair import Trial
from tjbench.pricing import Usage
from tjbench.scoring.blame import blamed, names_of_prompt, suspect_scorer
from tjbench.scoring.score import PASSED, Cause, failed
from tjbench.suites import humaneval
from tjbench.suites.task import Message, NumberCheck, Task, UnitTests

PREAMBLE = "from typing import List\n\n\ndef poly(x: int) -> int:\n    return x\n\n\ndef f(x: List[int]) -> int:\n"
TASK = Task(
    id="t",
    messages=(Message(role="user", content="Use LIMIT:\n\n```python\nLIMIT = 3\ndef f(x):\n```\n"),),
    check=UnitTests(entry_point="f", preamble=PREAMBLE, tests="def check(candidate): pass"),
)


@pytest.mark.parametrize("name", ["List", "poly", "f", "LIMIT"])
def test_a_name_the_prompt_defines_is_a_name_error(name: str) -> None:
    score = failed(Cause.NAME_ERROR, f"NameError: name '{name}' is not defined at `assert candidate(1)`")
    assert blamed(score, TASK) == score


@pytest.mark.parametrize(
    "detail",
    [
        "NameError: name 'Dict' is not defined",
        "NameError: name 'x' is not defined",
        "NameError: mine",
        "UnboundLocalError: cannot access local variable 'poly' where it is not associated with a value",
    ],
)
def test_any_other_name_is_an_exception(detail: str) -> None:
    score = blamed(failed(Cause.NAME_ERROR, detail), TASK)
    assert (score.passed, score.cause, score.detail) == (False, Cause.EXCEPTION, detail)


def test_an_entry_point_that_is_no_function_is_no_code() -> None:
    score = blamed(failed(Cause.NAME_ERROR, "the answer does not define the entry point"), TASK)
    assert (score.passed, score.cause) == (False, Cause.NO_CODE)


def test_other_scores_stay() -> None:
    for score in (PASSED, failed(Cause.TIMEOUT, "out of time"), failed(Cause.HARNESS, "NameError: name 'List'")):
        assert blamed(score, TASK) == score


def test_a_prompt_without_code_defines_nothing() -> None:
    task = Task(id="n", messages=(Message(role="user", content="What is 1 + 1?"),), check=NumberCheck(expected="2"))
    assert names_of_prompt(task) == set()


def test_the_prompts_of_humaneval_whose_helpers_answers_call_define_them() -> None:
    """The four tasks that define a helper, by the dataset's documentation of them."""
    tasks = {task.id: task for task in humaneval.load().tasks}
    helpers = {10: "is_palindrome", 32: "poly", 38: "encode_cyclic", 50: "encode_shift"}
    for number, helper in helpers.items():
        assert helper in names_of_prompt(tasks[f"HumanEval/{number}"])
    importing = [task for task in tasks.values() if "List" in names_of_prompt(task)]
    assert len(importing) >= 16


def trials(**causes: int) -> list[Trial]:
    """Failed trials by cause; ``passed`` and ``unscored`` stand for themselves."""
    return [
        Trial(
            passes=int(cause == "passed"),
            samples=1,
            unscored=int(cause == "unscored"),
            usage=Usage(),
            cause={"passed": None, "unscored": "truncated"}.get(cause, cause),
        )
        for cause, count in causes.items()
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    "causes",
    [
        {"name_error": 22, "passed": 100},
        {"no_code": 5, "assertion": 4},
        {"syntax_error": 3, "passed": 161},
        {"name_error": 4, "assertion": 3, "unscored": 50},
    ],
)
def test_one_cause_of_most_failures_that_looks_like_the_harness_is_suspect(causes: dict[str, int]) -> None:
    assert suspect_scorer(trials(**causes))


@pytest.mark.parametrize(
    "causes",
    [
        {"passed": 10},
        {"assertion": 50, "passed": 10},
        {"no_code": 5, "assertion": 5},
        {"no_code": 3, "name_error": 3, "assertion": 1},
        {"no_code": 2, "passed": 162},
        {"exception": 30},
        {"unscored": 30},
    ],
)
def test_failures_of_the_models_own_are_not(causes: dict[str, int]) -> None:
    assert not suspect_scorer(trials(**causes))
