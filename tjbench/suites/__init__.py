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

SUFFIXES = (".jsonl", ".jsonl.gz", ".yaml", ".yml")
"""How the name of a suite file ends."""

_BY_DIRECTORY = "where several suites run, let TJBENCH_DATA_DIR hold SUITE.jsonl for those that take rows"

__all__ = ["SUFFIXES", "BuiltIn", "builtin_suites", "is_path", "load_suite", "near_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A suite that goes by a name; its module's ``load`` reads it."""

    name: str
    n_tasks: int
    description: str
    takes_data: bool = False


_BUILT_IN = (
    BuiltIn(name="samples", n_tasks=90, description="short Python functions and word problems, shipped with tjb"),
    BuiltIn(
        name="humaneval",
        n_tasks=164,
        description="OpenAI HumanEval: Python functions with unit tests",
        takes_data=True,
    ),
    BuiltIn(
        name="gsm8k",
        n_tasks=1319,
        description="OpenAI GSM8K: grade-school word problems, from the Hugging Face hub or a file",
        takes_data=True,
    ),
)


def builtin_suites() -> list[BuiltIn]:
    """The suites that have a name, without loading any."""
    return list(_BUILT_IN)


def is_path(name_or_path: str) -> bool:
    """Whether a suite is meant by its path: it ends like a suite file or holds a slash."""
    return name_or_path.endswith(SUFFIXES) or "/" in name_or_path


def near_file(path: Path) -> str:
    """What to write instead of the path of a file that is not there: a name like it in its directory."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return f"there is no directory {path.parent}: correct the path"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else "correct the path; a relative one starts where tjb is run"


def load_suite(
    name_or_path: str,
    *,
    workspace: Path,
    data: Path | None = None,
    data_dir: Path | None = None,
    confine: bool = False,
) -> Suite:
    """A built-in suite by name, or a user's own by the path of its file (a relative one starts at ``workspace``).

    ``data`` is a local file with the rows of a built-in suite that takes them; without it one named after the suite is
    looked for in ``data_dir``. With ``confine`` a suite's path, and ``data``, must lie inside ``workspace`` once
    symlinks are resolved. A user's suite is named by its path inside the workspace.
    """
    if is_path(name_or_path):
        if data is not None:
            raise UsageError(
                f"the suite {name_or_path} takes no data file", why="it holds its tasks itself", fix=_BY_DIRECTORY
            )
        return _load_users_suite(name_or_path, workspace=workspace, confine=confine)
    suite = next((suite for suite in _BUILT_IN if suite.name == name_or_path), None)
    if suite is None:
        names = [suite.name for suite in _BUILT_IN]
        close = difflib.get_close_matches(name_or_path.lower(), names, n=1)
        raise UsageError(
            f"there is no suite {name_or_path!r}",
            why=f"built-in suites: {', '.join(names)}; one of your own is the path of a {', '.join(SUFFIXES)} file",
            fix=f"did you mean {close[0]!r}?" if close else "run tjb benchmarks to see what each holds",
        )
    load = import_module(f"tjbench.suites.{suite.name}").load
    if not suite.takes_data:
        if data is not None:
            raise UsageError(
                f"the suite {suite.name} takes no data file", why="its tasks are installed with it", fix=_BY_DIRECTORY
            )
        return cast("Callable[[], Suite]", load)()
    if data is not None:
        data = _resolved(str(data), workspace=workspace, confine=confine, what="the data file")
    elif data_dir is not None:
        named = (data_dir / f"{suite.name}{ending}" for ending in (".jsonl", ".jsonl.gz"))
        data = next((path for path in named if path.exists()), None)
    return cast("Callable[[Path | None], Suite]", load)(data)


def _load_users_suite(text: str, *, workspace: Path, confine: bool) -> Suite:
    from tjbench.suites.file import load_file

    path = _resolved(text, workspace=workspace, confine=confine, what="the suite")
    try:
        path.stat()
    except FileNotFoundError:
        raise UsageError(f"{path} cannot be read", why="there is no such file", fix=near_file(path)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    root = workspace.resolve()
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return load_file(path, name=name, packaged=False)


def _resolved(text: str, *, workspace: Path, confine: bool, what: str) -> Path:
    if "\0" in text:
        raise UsageError(f"{text!r} is not a path")
    root = workspace.resolve()
    try:
        path = (root / text).resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{what} {text} cannot be read", why=str(error)) from None
    if confine and not path.is_relative_to(root):
        raise UsageError(
            f"{what} {text} lies outside the workspace",
            why="a suite is part of what a change is judged on, so it has to be a file of the repository",
            fix="move it into the repository and name it by its path there",
        )
    return path
