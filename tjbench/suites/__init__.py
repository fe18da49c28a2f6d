"""The door to the suites: built-in ones by name, a user's own by its path. Nothing is loaded before it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tjbench.errors import UsageError

if TYPE_CHECKING:
    from tjbench.suites.task import Suite

__all__ = ["BuiltIn", "builtin_suites", "is_path", "load_suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A suite that goes by a name; its module's ``load`` reads it."""

    name: str
    n_tasks: int
    description: str


_BUILT_IN = (
    BuiltIn(name="samples", n_tasks=90, description="short Python functions and word problems, shipped with tjb"),
    BuiltIn(name="humaneval", n_tasks=164, description="OpenAI HumanEval: Python functions with unit tests"),
)


def builtin_suites() -> list[BuiltIn]:
    """The suites that have a name, without loading any."""
    return list(_BUILT_IN)


def is_path(name_or_path: str) -> bool:
    """Whether a suite is meant by its path: it ends in .jsonl or holds a slash."""
    return name_or_path.endswith(".jsonl") or "/" in name_or_path


def load_suite(name_or_path: str, *, workspace: Path, data: Path | None = None, confine: bool = False) -> Suite:
    """A built-in suite by name, or a user's JSONL suite by path (a relative one starts at ``workspace``).

    With ``confine`` the path must lie inside ``workspace`` once symlinks are resolved. ``data`` is a local file with
    the rows of a suite that otherwise comes from the hub. A user's suite is named by its path inside the workspace.
    """
    if is_path(name_or_path):
        return _load_users_suite(name_or_path, workspace=workspace, confine=confine)
    names = [suite.name for suite in _BUILT_IN]
    if name_or_path not in names:
        close = difflib.get_close_matches(name_or_path.lower(), names, n=1)
        raise UsageError(
            f"there is no suite {name_or_path!r}",
            why=f"built-in suites: {', '.join(names)}; a suite of your own is the path of a .jsonl file",
            fix=f"did you mean {close[0]!r}?" if close else "run tjb benchmarks to see what each holds",
        )
    if data is not None:
        raise UsageError(f"the suite {name_or_path!r} takes no data file", why="its tasks are installed with it")
    load = cast("Callable[[], Suite]", import_module(f"tjbench.suites.{name_or_path}").load)
    return load()


def _load_users_suite(text: str, *, workspace: Path, confine: bool) -> Suite:
    from tjbench.suites.file import load_file

    if "\0" in text:
        raise UsageError(f"{text!r} is not a path")
    root = workspace.resolve()
    try:
        path = (root / text).resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"the suite {text} cannot be read", why=str(error)) from None
    inside = path.is_relative_to(root)
    if confine and not inside:
        raise UsageError(
            f"the suite {text} lies outside the workspace",
            why="a suite is part of what a change is judged on, so it has to be a file of the repository",
            fix="move it into the repository and name it by its path there",
        )
    return load_file(path, name=path.relative_to(root).as_posix() if inside else path.name, packaged=False)
