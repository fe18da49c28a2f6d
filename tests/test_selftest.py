"""No model is asked before known answers are judged as they must be."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.tokenjam import make_tokenjam
from tjbench.config import config_of
from tjbench.errors import ExitCode, IncompleteError
from tjbench.run import RunRequest, run_once
from tjbench.sandbox import Box, Ending, Level, Outcome, Program, cores, open_box
from tjbench.selftest import TASKS, SelfTest
from tjbench.suites import load_suite
from tjbench.suites.task import Canned, Message, Suite, Task, UnitTests
from tjbench.workplace import RunOptions, Workplace

RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x\n"
TESTS = "def check(candidate):\n    assert candidate(3) == 6\n"


def suite(*, tests: str = TESTS, right: str = RIGHT, wrong: str = WRONG, canned: bool = True, count: int = 1) -> Suite:
    tasks = tuple(
        Task(
            id=f"double-{number}",
            messages=(Message(role="user", content="Double it."),),
            check=UnitTests(entry_point="double", preamble="", tests=tests),
            canned=Canned(right=right, wrong=wrong) if canned else None,
        )
        for number in range(count)
    )
    return Suite(name="own", tasks=tasks, packaged=False, n_available=count)


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with open_box(workers=2, trusted=True) as box:
        yield box


class Judge:
    """Stands in for a box: judges by a function of ours, and counts."""

    def __init__(self, judge: Callable[[Program], Ending], level: Level = Level.FULL) -> None:
        self.judge = judge
        self.level = level
        self.programs: list[Program] = []

    def run(self, program: Program) -> Outcome:
        self.programs.append(program)
        return Outcome(ending=self.judge(program), error="as it is told", wall_s=0.0)


def honest(program: Program) -> Ending:
    return Ending.PASSED if "2 * x" in program.answer else Ending.ASSERTION


def test(judge: Judge | Box, *suites: Suite, cache: Path | None = None) -> list[str]:
    said: list[str] = []
    SelfTest(cache=cache, say=said.append)(suites, judge)  # type: ignore[arg-type]
    return said


test.__test__ = False  # type: ignore[attr-defined]


def complaint(judge: Judge | Box, *suites: Suite, cache: Path | None = None) -> str:
    with pytest.raises(IncompleteError) as raised:
        test(judge, *suites, cache=cache)
    assert raised.value.exit_code is ExitCode.INCOMPLETE
    return str(raised.value)


@pytest.mark.parametrize(("name", "answers"), [("samples", 45 + 2 * 5 + 3), ("humaneval", 164 + 2 * 17 + 3)])
def test_packaged_suites_are_in_order_here(name: str, answers: int, box: Box) -> None:
    (said,) = test(box, load_suite(name, workspace=Path()))
    assert said.startswith(f"self-test of {name}: {answers} known answers judged right")


def test_a_users_suite_is_tested_with_and_without_canned_answers(box: Box) -> None:
    assert len(test(box, suite(count=3), suite(canned=False))) == 2


def test_a_right_answer_that_fails_is_named_with_what_happened(box: Box) -> None:
    words = complaint(box, suite(right=WRONG))
    assert "self-test of the suite own failed, so no model was asked" in words
    assert "double-0: the right answer fails (assertion: AssertionError at `assert candidate(3) == 6`)" in words


def test_a_wrong_answer_that_passes_is_named(box: Box) -> None:
    assert "double-0: the wrong answer passes" in complaint(box, suite(wrong=RIGHT))


@pytest.mark.parametrize(
    "tests",
    [
        "def check(candidate):\n    pass\n",
        "def check(candidate):\n    try:\n        assert candidate(3) == 6\n    except Exception:\n        pass\n",
    ],
)
def test_tests_that_a_stub_passes_are_named(tests: str, box: Box) -> None:
    assert "double-0: a stub passes" in complaint(box, suite(tests=tests, canned=False))


def test_tests_that_are_broken_are_named(box: Box) -> None:
    words = complaint(box, suite(tests="def check(candidate):\n    assert candidate(lambda: 1)\n", canned=False))
    assert "double-0: an answer that" in words or "double-0: a stub cannot be judged (harness" in words


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("os._exit(0)\n", "an answer that leaves with exit code 0 passes"),
        ("Equal(0)", "an answer that returns what equals everything passes"),
        ("os.write(fd", "an answer that writes a verdict of its own passes"),
    ],
)
def test_a_box_that_lets_a_pass_be_forged_is_found(mark: str, says: str) -> None:
    def fooled(program: Program) -> Ending:
        return Ending.PASSED if mark in program.answer and "raise" not in program.answer else honest(program)

    assert f"double-0: {says}" in complaint(Judge(fooled), suite())


def test_a_box_that_cannot_judge_is_found() -> None:
    assert "the right answer cannot be judged (harness: as it is told)" in complaint(
        Judge(lambda _: Ending.HARNESS), suite()
    )


def test_what_is_wrong_everywhere_is_not_tried_everywhere() -> None:
    judge = Judge(lambda _: Ending.TIMEOUT)
    words = complaint(judge, suite(count=150))
    assert words.count("the right answer fails") == 3
    # One that is out of time is tried up to three times: to the floor, its right answer, and to the deadline from that.
    assert len(judge.programs) <= 3 * (3 + cores())


def test_of_a_large_suite_a_part_is_tested_from_end_to_end() -> None:
    judge = Judge(honest)
    test(judge, suite(count=TASKS * 3))
    assert len(judge.programs) == 3 * TASKS + 3


def test_what_passed_is_remembered(tmp_path: Path) -> None:
    first, second = Judge(honest), Judge(honest)
    assert len(test(first, suite(), cache=tmp_path / "new")) == 1
    assert test(second, suite(), cache=tmp_path / "new") == []
    assert second.programs == []


def test_what_failed_is_not(tmp_path: Path) -> None:
    complaint(Judge(lambda _: Ending.PASSED), suite(), cache=tmp_path)
    assert len(test(Judge(honest), suite(), cache=tmp_path)) == 1


@pytest.mark.parametrize(
    "other",
    [
        suite(tests=TESTS + "    assert candidate(0) == 0\n"),
        suite(right=RIGHT + "\n"),
        suite(count=2),
        replace(suite(), name="another"),
    ],
)
def test_another_suite_or_revision_is_tested_again(other: Suite, tmp_path: Path) -> None:
    test(Judge(honest), suite(), cache=tmp_path)
    assert len(test(Judge(honest), other, cache=tmp_path)) == 1


def test_another_level_is_tested_again(tmp_path: Path) -> None:
    test(Judge(honest), suite(), cache=tmp_path)
    assert len(test(Judge(honest, Level.CONFINED), suite(), cache=tmp_path)) == 1


def test_without_a_place_to_remember_it_is_tested_every_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert len(test(Judge(honest), suite(), cache=tmp_path / "file" / "below")) == 1


@pytest.mark.parametrize("inside", [True, False])
def test_nothing_is_remembered_in_the_workspace(inside: bool, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    cache = root / "cache" if inside else tmp_path / "cache"
    place = Workplace(root=root, environ={"XDG_CACHE_HOME": str(cache)})
    assert place.self_test_cache() == (None if inside else cache / "tjbench" / "selftest")


def run_live(directory: Path, suite_line: str, provider: FakeProvider, python: Path) -> tuple[ExitCode, str]:
    (directory / "suite.jsonl").write_text(suite_line)
    proof = {"suite": "suite.jsonl", "original": "openai:big", "candidate": "openai:small"}
    environ = {
        "OPENAI_BASE_URL": provider.openai_url,
        "HOME": str(directory),
        "XDG_CACHE_HOME": str(directory.parent / "cache"),
        "TJBENCH_TOKENJAM_PYTHON": str(python),
    }
    request = RunRequest(
        config=config_of({"proof": [proof]}, "--"),
        options=RunOptions(out=directory / "results", allow_unsandboxed=True),
    )
    stderr = io.StringIO()
    code = run_once(request, Workplace(root=directory, environ=environ), stdout=io.StringIO(), stderr=stderr)
    return code, stderr.getvalue()


def test_a_run_asks_nobody_until_it_passed(tmp_path: Path) -> None:
    python = make_tokenjam(tmp_path / "tokenjam")
    (tmp_path / "work").mkdir()
    line = (
        '{"id": "t", "prompt": "?", "check": {"unit_tests": {"entry_point": "f", "tests": "def check(c):\\n    %s"}}}'
    )
    with FakeProvider(lambda _: Reply(text="def f():\n    return 1\n")) as provider:
        with pytest.raises(IncompleteError, match=r"self-test of the suite suite\.jsonl failed"):
            run_live(tmp_path / "work", line % "pass", provider, python)
        assert provider.asks == []
        code, stderr = run_live(tmp_path / "work", line % "assert c() == 1", provider, python)
        assert code is ExitCode.PASSED
        assert "self-test of suite.jsonl: 4 known answers judged right" in stderr
        assert len(provider.asks) == 2
        _, again = run_live(tmp_path / "work", line % "assert c() == 1", provider, python)
        assert "self-test" not in again
