# ruff: noqa: E501 (an answer's lines are its own)
"""Forty-odd ways in which a model writes down the same function, and what each must score."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tjbench.sandbox import Box, open_box
from tjbench.scoring import code
from tjbench.scoring.code import DEADLINE_S, deadline_s, extract, score_code
from tjbench.scoring.score import Cause
from tjbench.suites.task import UnitTests

CHECK = UnitTests(
    entry_point="total",
    preamble=(
        "from typing import List\n"
        "import math\n"
        "\n"
        "\n"
        "def twice(x: int) -> int:\n"
        "    return 2 * x\n"
        "\n"
        "\n"
        "def total(values: List[int], scale: int = 1) -> int:\n"
        '    """Add the values up, each times scale.\n'
        "\n"
        "    >>> total([1, 2])\n"
        "    3\n"
        '    """\n'
    ),
    tests=(
        "def check(candidate):\n"
        "    assert candidate([]) == 0\n"
        "    assert candidate([1, 2, 3]) == 6\n"
        "    assert candidate([1, 2], scale=2) == 6\n"
        "    assert total([twice(1)]) == 2\n"
    ),
)

FULL = "def total(values: List[int], scale: int = 1) -> int:\n    return sum(values) * scale"
BODY = "    result = 0\n    for value in values:\n        result += value * scale\n    return result\n"

PASS: dict[str, str] = {
    "a full function in a python fence": f"```python\n{FULL}\n```",
    "a fence without a language": f"```\n{FULL}\n```",
    "a fence with another spelling of the language": f"```Python3\n{FULL}\n```",
    "a fence with attributes": f'```python title="total.py"\n{FULL}\n```',
    "a fence of tildes": f"~~~python\n{FULL}\n~~~",
    "a long fence": f"````python\n{FULL}\n````",
    "a fence that is never closed": f"Here you go:\n```python\n{FULL}\n",
    "prose before and after a fence": f"Sure! Here it is:\n\n```python\n{FULL}\n```\n\nIt uses `sum`.",
    "a full function without a fence": FULL,
    "a full function with prose around and no fence": f"Here is the function:\n\n{FULL}\n\nThis runs in O(n).",
    "a full function with its imports and no fence": f"from typing import List\n\n{FULL}\n",
    "imports, helpers and prose around and no fence": "Sure.\n\nfrom functools import reduce\n\ndef add(values):\n    return reduce(int.__add__, values, 0)\n\ndef total(values, scale=1):\n    return add(values) * scale\n\nIt adds.\nThat is all.",
    "a body without indentation, then prose": "result = 0\nfor value in values:\n    result += value * scale\nreturn result\n\nThis adds every value.\nIt is simple.",
    "a body whose first line lost its indentation, then prose": BODY.lstrip() + "\nThis adds every value.",
    "the prompt repeated whole": f"```python\n{CHECK.preamble}{BODY}```",
    "the prompt repeated without a fence": CHECK.preamble + BODY,
    "a bare body": BODY,
    "a bare body in a fence": f"```python\n{BODY}```",
    "a bare body whose first line lost its indentation": BODY.lstrip(),
    "a bare body in a fence whose first line lost its indentation": f"```python\n{BODY.lstrip()}```",
    "a bare body without indentation": "result = 0\nfor value in values:\n    result += value * scale\nreturn result",
    "a one-line body": "return sum(values) * scale",
    "a one-line body with indentation": "    return sum(values) * scale",
    "a body indented by two": "  result = 0\n  for value in values:\n    result += value * scale\n  return result\n",
    "a body indented by tabs": "\tresult = 0\n\tfor value in values:\n\t\tresult += value * scale\n\treturn result\n",
    "a body followed by prose": BODY + "\nThis adds every value.",
    "a body followed by another function": BODY + "\n\ndef unrelated():\n    return 1\n",
    "a full function indented as a whole": "```python\n    " + FULL.replace("\n", "\n    ") + "\n```",
    "a fence inside a list": "1. The code:\n   ```python\n   " + FULL.replace("\n", "\n   ") + "\n   ```\n2. Done.",
    "a quoted fence": "> ```python\n> " + FULL.replace("\n", "\n> ") + "\n> ```",
    "carriage returns": f"```python\n{FULL}\n```".replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + FULL,
    "a lone surrogate in a comment": f"```python\n# \ud83d\n{FULL}\n```",
    "a lone surrogate in a string": f"```python\nNOTE = '\udfff'\n{FULL}\n```",
    "tabs throughout": "```python\ndef total(values, scale=1):\n\tresult = 0\n\tfor v in values:\n\t\tresult += v * scale\n\treturn result\n```",
    "demo calls after the function": f"```python\n{FULL}\n\nprint(total([1, 2]))\n```",
    "a demo that reads input": f"```python\n{FULL}\n\nn = int(input())\nprint(total([n]))\n```",
    "a demo whose own expectation is wrong": f"```python\n{FULL}\n\nassert total([1]) == 5\n```",
    "a demo that never ends": f"```python\n{FULL}\n\nwhile True:\n    total([1])\n```",
    "a demo in a main guard": f'```python\n{FULL}\n\nif __name__ == "__main__":\n    print(total([int(input())]))\n```',
    "a main function and its call": f"```python\n{FULL}\n\ndef main():\n    print(total([int(input())]))\n\nmain()\n```",
    "its own imports": "```python\nfrom functools import reduce\nimport operator\n\ndef total(values, scale=1):\n    return reduce(operator.add, values, 0) * scale\n```",
    "imports inside the function": "```python\ndef total(values, scale=1):\n    from math import fsum\n    return int(fsum(values)) * scale\n```",
    "a future import": f"```python\nfrom __future__ import annotations\n\n{FULL}\n```",
    "a helper before the function": "```python\ndef add(a, b):\n    return a + b\n\ndef total(values, scale=1):\n    out = 0\n    for v in values:\n        out = add(out, v * scale)\n    return out\n```",
    "a helper after the function": "```python\ndef total(values, scale=1):\n    return _add(values) * scale\n\ndef _add(values):\n    return sum(values)\n```",
    "a helper in a block of its own": "First a helper:\n```python\ndef add(values):\n    return sum(values)\n```\nThen:\n```python\ndef total(values, scale=1):\n    return add(values) * scale\n```",
    "a helper in a later block": "```python\ndef total(values, scale=1):\n    return add(values) * scale\n```\nwith\n```python\ndef add(values):\n    return sum(values)\n```",
    "a constant in a block of its own": "```python\nZERO = 0\n```\n```python\ndef total(values, scale=1):\n    return sum(values, ZERO) * scale\n```",
    "a class that the function uses": "```python\nclass Adder:\n    def __init__(self):\n        self.sum = 0\n    def add(self, v):\n        self.sum += v\n\ndef total(values, scale=1):\n    adder = Adder()\n    for v in values:\n        adder.add(v * scale)\n    return adder.sum\n```",
    "a dataclass that the function uses": "```python\nfrom dataclasses import dataclass\n\n@dataclass\nclass Sum:\n    value: int = 0\n\ndef total(values, scale=1):\n    return Sum(sum(values) * scale).value\n```",
    "a table filled at import": "```python\nTABLE = {}\n\ndef total(values, scale=1):\n    return sum(TABLE.get(v, v) for v in values) * scale\n\nfor n in range(10):\n    TABLE[n] = n\n```",
    "a decorated function": "```python\nimport functools\n\n@functools.wraps(print)\ndef total(values, scale=1):\n    return sum(values) * scale\n```",
    "a lambda": "```python\ntotal = lambda values, scale=1: sum(values) * scale\n```",
    "an alias": "```python\ndef add_up(values, scale=1):\n    return sum(values) * scale\n\ntotal = add_up\n```",
    "helpers of the prompt": "```python\ndef total(values, scale=1):\n    return sum(twice(v) for v in values) * scale // 2\n```",
    "a name the prompt imports": "```python\ndef total(values: List[int], scale=1):\n    return int(math.fsum(values)) * scale\n```",
    "usage shown in a second block": f"```python\n{FULL}\n```\nUsage:\n```python\nprint(total([1, 2]))\n```",
    "output shown in a second block": f"```python\n{FULL}\n```\nOutput:\n```\n6\n```",
    "a shell block before the code": f"```bash\npip install nothing\n```\n```python\n{FULL}\n```",
    "a wrong attempt, then the right one": f"```python\ndef total(values, scale=1):\n    return 0\n```\nThat is wrong. Instead:\n```python\n{FULL}\n```",
    "the signature first, then the whole": f"```python\ndef total(values, scale=1):\n    ...\n```\nbecomes\n```python\n{FULL}\n```",
    "the whole, then the signature again": f"```python\n{FULL}\n```\nIts signature:\n```python\ndef total(values, scale=1):\n    ...\n```",
    "a fence inside a docstring": '```python\ndef total(values, scale=1):\n    """Adds.\n\n    ```\n    total([1])\n    ```\n    """\n    return sum(values) * scale\n```',
    "thoughts before the answer": f"<think>\nMaybe\n```python\ndef total(values, scale=1):\n    return 1\n```\n</think>\n```python\n{FULL}\n```",
    "a doubtful escape in a string": "```python\ndef total(values, scale=1):\n    '''\\d'''\n    return sum(values) * scale\n```",
    "a name from the module's own globals": "```python\ndef total(values, scale=1):\n    global seen\n    seen = sum(values)\n    return seen * scale\n```",
    "recursion by its own name": "```python\ndef total(values, scale=1):\n    return values[0] * scale + total(values[1:], scale) if values else 0\n```",
    "output while it runs": "```python\ndef total(values, scale=1):\n    print(values)\n    return sum(values) * scale\n```",
    "a doctest run at the end": f"```python\n{FULL}\n\nimport doctest\ndoctest.testmod()\n```",
}

FAIL: dict[str, tuple[str, Cause]] = {
    "nothing": ("", Cause.NO_ANSWER),
    "blank lines": (" \n\n", Cause.NO_ANSWER),
    "prose alone": ("I would add all the numbers up and multiply.", Cause.NO_CODE),
    "a refusal": ("I'm sorry, but I can't help with that.", Cause.NO_CODE),
    "one word": ("Sorry", Cause.NO_CODE),
    "one number": ("6", Cause.NO_CODE),
    "another function": ("```python\ndef add(values):\n    return sum(values)\n```", Cause.NO_CODE),
    "a method": ("```python\nclass Solution:\n    def total(self, values):\n        return 0\n```", Cause.NO_CODE),
    "a wrong function": ("```python\ndef total(values, scale=1):\n    return 0\n```", Cause.ASSERTION),
    "a stub": ("```python\ndef total(values, scale=1):\n    pass\n```", Cause.ASSERTION),
    "a wrong body": ("    return 1\n", Cause.ASSERTION),
    "a function that raises": (
        "```python\ndef total(values, scale=1):\n    raise ValueError('no')\n```",
        Cause.EXCEPTION,
    ),
    "a name nobody defines": ("```python\ndef total(values, scale=1):\n    return add(values)\n```", Cause.NAME_ERROR),
    "broken code": ("```python\ndef total(values, scale=1):\n    return sum(values\n```", Cause.SYNTAX_ERROR),
    "code cut off": ("```python\ndef total(values, scale=1):\n    return sum(values) if", Cause.SYNTAX_ERROR),
    "code of another language": ("```c\nint total(int *values) { return 0; }\n```", Cause.NO_CODE),
    "a NUL byte": ("```python\ndef total(values, scale=1):\n    return '\0'\n```", Cause.SYNTAX_ERROR),
    "a generator": ("```python\ndef total(values, scale=1):\n    yield sum(values)\n```", Cause.EXCEPTION),
    "leaving with exit code 0": ("```python\nimport sys\nsys.exit(0)\n\n" + FULL + "\n```", Cause.EXCEPTION),
}


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with open_box(workers=1, trusted=True) as box:
        yield box


def test_the_table_is_large_enough() -> None:
    assert len(PASS) >= 40


@pytest.mark.parametrize("text", PASS.values(), ids=PASS)
def test_a_right_answer_passes_however_it_is_written(text: str, box: Box) -> None:
    score = score_code(text, CHECK, box)
    assert (score.passed, score.cause, score.detail) == (True, None, "")


@pytest.mark.parametrize(("text", "cause"), FAIL.values(), ids=FAIL)
def test_any_other_answer_fails_with_its_cause(text: str, cause: Cause, box: Box) -> None:
    score = score_code(text, CHECK, box)
    assert (score.passed, score.cause) == (False, cause)
    assert score.detail


def test_the_failing_line_of_the_tests_is_named(box: Box) -> None:
    score = score_code("def total(values, scale=1):\n    return 0\n", CHECK, box)
    assert "assert candidate([1, 2, 3]) == 6" in score.detail


def test_a_signature_without_a_body_is_continued(box: Box) -> None:
    bare = UnitTests(
        entry_point="total",
        preamble="def total(values, scale=1):\n    # adds the values\n",
        tests=CHECK.tests.split("    assert total")[0],
    )
    assert score_code("    return sum(values) * scale\n", bare, box).passed
    assert score_code(FULL.replace(": List[int]", ""), bare, box).passed


def test_a_broken_suite_is_no_wrong_answer(box: Box) -> None:
    broken = UnitTests(entry_point="total", preamble=CHECK.preamble, tests="def check(candidate):\n    assert unknown")
    score = score_code(FULL, broken, box)
    assert (score.passed, score.cause) == (None, Cause.HARNESS)


def test_extraction_runs_nothing() -> None:
    assert extract("```python\nraise SystemExit\n\ndef total(v):\n    return 0\n```", CHECK) is not None


SLOW = UnitTests(entry_point="f", preamble="", tests="def check(candidate):\n    assert candidate(1) == 1\n")


def waiting(seconds: float) -> str:
    return f"import time\ndef f(x):\n    time.sleep({seconds})\n    return x\n"


def test_the_deadline_follows_from_the_right_answer_s_own_time(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "FLOOR_S", 0.3)
    monkeypatch.setattr(code, "FACTOR", 4)
    monkeypatch.setattr(code, "CEILING_S", 4.0)
    assert 0.3 <= deadline_s(waiting(0), SLOW, box) < 4
    assert 2 <= deadline_s(waiting(0.5), SLOW, box) <= 4
    assert deadline_s(waiting(1.2), SLOW, box) == 4
    assert score_code(waiting(0.8), SLOW, box, reference=waiting(0.5)).passed
    assert score_code(waiting(9), SLOW, box, reference=waiting(0)).cause is Cause.TIMEOUT


def test_a_reference_that_does_not_pass_leaves_the_usual_deadline(box: Box) -> None:
    assert deadline_s("def f(x):\n    return 2", SLOW, box) == DEADLINE_S
    assert deadline_s("no code", SLOW, box) == DEADLINE_S


HOSTILE = {
    "deep arithmetic": "-" * 5000 + "1",
    "deep parentheses": "(" * 5000 + ")" * 5000,
    "deep lambdas": "lambda: " * 2500 + "1",
    "deep attributes": "a" + ".b" * 5000,
    "a long sum": "a" + " + a" * 5000,
    "many fences": "```\n~~~\n" * 2000,
    "many lines": "x\n\n" * 2000,
    "many decorators": "@a\n" * 2000,
    "many imports that are none": "import x y\n" * 2000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("around", ["{}", "```python\ndef total(values, scale=1):\n    return {}\n```", "```\n{}\n```"])
def test_a_hostile_text_is_read_without_harm(text: str, around: str) -> None:
    started = time.process_time()
    extract(around.replace("{}", text), CHECK)
    assert time.process_time() - started < 10


def test_an_answer_without_end_is_read_so_far() -> None:
    assert extract("def total(values):\n    return 0\n" + "# again\n" * 10**6, CHECK) is not None
