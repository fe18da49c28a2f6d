"""A suite of the user's own, in a JSONL or YAML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tjbench.errors import DOCUMENTATION, UsageError
from tjbench.suites.entries import Entry, jsonl_entries
from tjbench.suites.record import Header, TaskRecord
from tjbench.suites.task import Suite, Task

YAML = (".yaml", ".yml")


def load_file(path: Path, *, name: str, packaged: bool) -> Suite:
    """The suite in a file, one task an entry; the first entry may be ``{"suite": {...}}`` and holds for all.

    ``name`` is the suite's name in results. Anything wrong is a UsageError that names file, line and field.
    """
    header = Header()
    tasks: dict[str, Task] = {}
    seen: dict[str, int] = {}
    first = True
    for entry in _entries(path):
        if "suite" in entry.value:
            if not first:
                entry.refuse("suite can only stand on the first line")
            if len(entry.value) > 1:
                entry.refuse("a suite line holds nothing but suite", fix="put the task on a line of its own")
            header = entry.read_as(Header, at=("suite",))
        else:
            task = entry.read_as(TaskRecord).task(header)
            if task.id in seen:
                entry.refuse(
                    f"the id {task.id!r} is already on line {seen[task.id]}", fix="give every task an id of its own"
                )
            tasks[task.id], seen[task.id] = task, entry.line
        first = False
    if not tasks:
        raise UsageError(f"{path} holds no task", fix=f"write at least one task; see {DOCUMENTATION}/benchmarks.md")
    return Suite(
        name=name,
        tasks=tuple(tasks.values()),
        packaged=packaged,
        n_available=len(tasks),
        description=header.description,
        source="packaged" if packaged else str(path),
    )


def _entries(path: Path) -> Iterator[Entry]:
    if path.suffix in YAML:
        from tjbench.suites.yaml_entries import yaml_entries

        return yaml_entries(path)
    return jsonl_entries(path)
