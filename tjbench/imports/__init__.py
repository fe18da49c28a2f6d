"""Results that other tools measured: one module a tool, each with ``read``; none is loaded before it is asked for."""

from __future__ import annotations

from importlib import import_module

from tjbench.imports.outcome import Reader

TOOLS = {
    "csv": "csv_file",
    "promptfoo": "promptfoo",
    "inspect": "inspect_log",
    "lm-eval": "lm_eval",
    "deepeval": "deepeval",
}
"""What ``--from`` may name, and the module that reads it."""


def reader_of(tool: str) -> Reader:
    """The reader of one of ``TOOLS``."""
    found: Reader = import_module(f"tjbench.imports.{TOOLS[tool]}").read
    return found
