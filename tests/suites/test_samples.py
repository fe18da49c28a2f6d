"""The built-in suite: enough of both kinds, every answer right, no prompt that gives it away."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from tjbench.scoring.match import parse_number, score_number
from tjbench.suites import builtin_suites, samples
from tjbench.suites.task import NumberCheck, Suite, Task, UnitTests


@pytest.fixture(scope="module")
def suite() -> Suite:
    return samples.load()


def task(suite: Suite, task_id: str) -> Task:
    return next(task for task in suite.tasks if task.id == task_id)


def code_tasks() -> list[Task]:
    return [task for task in samples.load().tasks if isinstance(task.check, UnitTests)]


def run(answer: str, check: UnitTests) -> None:
    """Run a canned answer, which is our own text, against its tests."""
    fence, *lines, end = answer.splitlines()
    assert (fence, end) == ("```python", "```")
    space: dict[str, object] = {}
    exec("\n".join(lines), space)
    exec(check.tests, space)
    judge = space["check"]
    assert callable(judge)
    judge(space[check.entry_point])


def test_it_holds_forty_of_each_kind_at_least_and_is_shipped(suite: Suite) -> None:
    kinds = [task.check.kind for task in suite.tasks]
    assert kinds.count("unit_tests") >= 40
    assert kinds.count("number") >= 40
    assert suite.packaged
    assert suite.executes_code
    assert suite.n_available == len(suite.tasks)


def test_its_size_is_the_one_listed(suite: Suite) -> None:
    (listed,) = (entry for entry in builtin_suites() if entry.name == "samples")
    assert listed.n_tasks == len(suite.tasks)


def test_code_and_math_alternate_so_that_any_first_n_mixes_them(suite: Suite) -> None:
    assert all(left.check.kind != right.check.kind for left, right in pairwise(suite.tasks))
    assert [task.id for task in suite.tasks[:4]] == [
        "samples/code-001",
        "samples/math-001",
        "samples/code-002",
        "samples/math-002",
    ]


def test_no_prompt_holds_its_canned_answers(suite: Suite) -> None:
    for each in suite.tasks:
        assert each.canned is not None
        prompt = "\n".join(message.content for message in each.messages)
        assert each.canned.right not in prompt
        assert each.canned.wrong not in prompt


def test_prompts_say_in_which_form_to_answer(suite: Suite) -> None:
    for each in suite.tasks:
        prompt = each.messages[-1].content
        assert ("####" in prompt) if isinstance(each.check, NumberCheck) else ("fenced ```python block" in prompt)


@pytest.mark.parametrize("each", code_tasks(), ids=lambda each: each.id)
def test_the_right_function_passes_its_tests_and_the_wrong_one_fails(each: Task) -> None:
    assert isinstance(each.check, UnitTests)
    assert each.canned is not None
    assert each.check.preamble in each.messages[-1].content
    run(each.canned.right, each.check)
    with pytest.raises((AssertionError, IndexError, KeyError)):
        run(each.canned.wrong, each.check)


def test_canned_numbers_score_as_they_should(suite: Suite) -> None:
    for each in suite.tasks:
        if isinstance(each.check, NumberCheck):
            assert each.canned is not None
            assert score_number(each.canned.right, each.check).passed is True
            assert score_number(each.canned.wrong, each.check).passed is False


ARITHMETIC: dict[str, Fraction | int] = {
    "001": Fraction(14 * 24 - 36, 12),
    "002": Fraction(18, 12) + Fraction(18, 9),
    "003": Fraction(480, 16 - 4),
    "005": 160 * Fraction(75, 100) * Fraction(90, 100),
    "006": 8 * 35 - Fraction(2, 5) * 8 * 35,
    "008": 14 * Fraction(45, 3),
    "010": Fraction(450, 6) * 10 - 200,
    "012": (13 * 60 + 5) - (9 * 60 + 40) - 25,
    "014": (5 - 32) * Fraction(5, 9),
    "015": 120 * (Fraction(5, 4) - Fraction(9, 12)),
    "016": 24 + 30 + 36 + 42 + 48,
    "018": 1 / (Fraction(1, 12) + Fraction(1, 24)),
    "019": Fraction(30 * 72 - 18 * 75, 30 - 18),
    "021": 27 * Fraction(5 + 3 + 4, 3),
    "022": 15 + Fraction(1000 - 15 * 40, 25),
    "024": 30**2 - 4 * 4**2,
    "025": 54 * Fraction(5, 6) * (1 - Fraction(2, 5)),
    "026": 2400 * Fraction(105, 100) ** 2,
    "028": Fraction(1500, 25),
    "029": 6 * 1250 * Fraction(98, 100),
    "030": (7 + Fraction(1, 2)) / Fraction(3, 4),
    "031": 108 / (1 - Fraction(3, 8) - Fraction(1, 4)),
    "032": Fraction("6.5") * Fraction(240, 100) * Fraction("1.8"),
    "033": Fraction(55, 500),
    "034": 5 * 84 + 2 * Fraction(3, 2) * 84,
    "035": (30 + 8) / Fraction(2, 3),
    "036": Fraction(360, 16),
    "038": 100 * (Fraction("2.76") / Fraction("2.40") - 1),
    "039": 1265 - 480,
    "040": Fraction(4 * 9 * 15, 100) - 2,
    "041": (Fraction("58.2") + Fraction("57.9") + Fraction("59.4") + Fraction("56.5")) / 4,
    "042": Fraction(1800 * 7, 2 + 7),
    "044": Fraction("1.4") / (1 - Fraction(2, 3)),
}
CONDITIONS: dict[str, Callable[[Fraction], bool]] = {
    "004": lambda adults: 9 * adults + 5 * (210 - adults) == 1530,
    "007": lambda area: 2 * (12 + 36) == 96 and area == 12 * 36,
    "009": lambda jon: jon + 2 * jon + (jon + 7) == 87,
    "011": lambda largest: largest + (largest - 2) + (largest - 4) == 138,
    "013": lambda goats: 4 * goats + 2 * (52 - goats) == 152,
    "017": lambda ladder: ladder**2 == Fraction("2.8") ** 2 + Fraction("9.6") ** 2,
    "020": lambda minutes: 15 + Fraction(8, 100) * (minutes - 100) == Fraction("27.40"),
    "023": lambda sara: sara + 20 == 2 * (sara / 4 + 20),
    "027": lambda notebook: 3 * notebook + 2 * (notebook - Fraction("1.20")) == Fraction("11.10"),
    "037": lambda volume: volume == 7**3 and 6 * 7**2 == 294,
    "043": lambda minutes: minutes <= 90 and (1200 + 800) * minutes / 60 == 3000,
    "045": lambda slower: slower / 70 == (330 - slower) / 95,
}


def expected(suite: Suite, number: str) -> Fraction:
    check = task(suite, f"samples/math-{number}").check
    assert isinstance(check, NumberCheck)
    assert parse_number(check.expected) == Decimal(check.expected)
    return Fraction(check.expected)


@pytest.mark.parametrize("number", ARITHMETIC)
def test_word_problem_has_the_answer_that_arithmetic_gives(suite: Suite, number: str) -> None:
    assert expected(suite, number) == ARITHMETIC[number]


@pytest.mark.parametrize("number", CONDITIONS)
def test_word_problem_has_the_answer_that_meets_its_conditions(suite: Suite, number: str) -> None:
    assert CONDITIONS[number](expected(suite, number))


def test_every_word_problem_is_recomputed(suite: Suite) -> None:
    listed = {f"samples/math-{number}" for number in (*ARITHMETIC, *CONDITIONS)}
    assert listed == {task.id for task in suite.tasks if isinstance(task.check, NumberCheck)}
