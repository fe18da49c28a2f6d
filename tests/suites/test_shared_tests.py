"""Tests that need more than plain data share the answer's interpreter, by request, and every artifact says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tjbench.sandbox import open_box
from tjbench.scoring.code import score_code
from tjbench.suites.file import load_file
from tjbench.suites.task import UnitTests

TESTS = "def check(candidate):\n    point = candidate(3)\n    assert point.x == 3 and type(point).__name__ == 'Point'\n"
ANSWER = "class Point:\n    def __init__(self, x):\n        self.x = x\n\ndef make(x):\n    return Point(x)\n"


def suite_file(directory: Path, **extra: object) -> Path:
    check = {"unit_tests": {"entry_point": "make", "tests": TESTS, **extra}}
    path = directory / "own.jsonl"
    path.write_text(json.dumps({"id": "t", "prompt": "Write make(x).", "check": check}))
    return path


@pytest.mark.parametrize(("extra", "passes"), [({"shared": True}, True), ({}, False)])
def test_an_object_of_the_answers_own_class_needs_the_same_interpreter(
    tmp_path: Path, extra: dict[str, object], passes: bool
) -> None:
    suite = load_file(suite_file(tmp_path, **extra), name="own.jsonl", packaged=False)
    check = suite.tasks[0].check
    assert isinstance(check, UnitTests)
    assert suite.shares_interpreter is passes
    with open_box(workers=1) as box:
        assert score_code(ANSWER, check, box).passed is passes
        assert score_code("def make(x):\n    raise SystemExit(0)\n", check, box).passed is False


def test_sharing_is_part_of_what_is_compared(tmp_path: Path) -> None:
    alone, shared = (
        load_file(suite_file(tmp_path, **extra), name="own", packaged=False).tasks[0].check_hash
        for extra in ({}, {"shared": True})
    )
    assert alone != shared
