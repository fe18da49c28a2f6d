"""The built-in suite: short functions and word problems in turn, so that any first N holds both."""

from __future__ import annotations

from importlib.resources import as_file, files

from tjbench.suites.file import load_file
from tjbench.suites.task import Suite


def load() -> Suite:
    """The packaged `samples` suite."""
    with as_file(files("tjbench.suites") / "data" / "samples.jsonl") as path:
        return load_file(path, name="samples", packaged=True)
