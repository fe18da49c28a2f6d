"""What happens in the container before `tjb`: a home of its own, and tokenjam at the wanted version."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tjbench.errors import ExitCode, IncompleteError, TjbError, UsageError
from tjbench.upgrade import Upgrade, Wanted, find_installer

VERSION_FLAG = "--tokenjam-version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to run: ``tjb`` with ``arguments``, after tokenjam is at ``tokenjam_version``.

    ``strict``: the newest tokenjam or nothing, since the run is about it.
    """

    arguments: tuple[str, ...]
    tokenjam_version: str
    strict: bool


def plan(arguments: Sequence[str], environ: Mapping[str, str]) -> Launch:
    """Read the arguments of the container: none is the action, others are those of ``tjb``.

    An action measures with the newest tokenjam unless told otherwise, a command with the one in the image.
    """
    words, flag = _take_flag(arguments)
    mode = action_input(environ, "mode")
    command = words or ("action",)
    wanted = flag or action_input(environ, "tokenjam-version") or ("installed" if words else "latest")
    if command[0] == "action" and mode == "post-comment":
        wanted = "installed"  # nothing is asked, and a version can be code of the workspace
    return Launch(
        arguments=command,
        tokenjam_version=wanted,
        strict=command[0] == "upgrade-check" or (command[0] == "action" and mode == "upgrade-check"),
    )


def action_input(environ: Mapping[str, str], name: str) -> str:
    """An input as GitHub hands it over (``INPUT_MAX-COST-USD``), or as a shell can (``INPUT_MAX_COST_USD``)."""
    upper = f"INPUT_{name.upper()}"
    return (environ.get(upper) or environ.get(upper.replace("-", "_")) or "").strip()


def home_for(environ: Mapping[str, str]) -> str:
    """A home that is writable and that no other step of the job sees: GitHub's is shared by all containers."""
    home = environ.get("HOME", "")
    if home and environ.get("GITHUB_ACTIONS") != "true" and os.access(home, os.W_OK | os.X_OK):
        return home
    return tempfile.mkdtemp(prefix="tjbench-home-")


def prepare(launch: Launch, upgrade: Upgrade, environ: Mapping[str, str]) -> dict[str, str]:
    """Bring tokenjam to the wanted version; returns the environment of ``tjb``.

    ``TJBENCH_UPGRADE_WARNING`` is set in it when the newest tokenjam could not be had. What an action cannot install
    becomes ``TJBENCH_UPGRADE_FAILURE``, so that the action reports it where people look; a command ends at once.
    """
    workspace = Path(environ.get("GITHUB_WORKSPACE") or Path.cwd())
    wanted = Wanted.parse(launch.tokenjam_version, workspace=workspace)
    passed_on = {name: value for name, value in environ.items() if not name.startswith("TJBENCH_UPGRADE_")}
    passed_on["HOME"] = home_for(environ)
    try:
        warning = upgrade.bring(wanted, strict=launch.strict)
    except IncompleteError as error:
        if launch.arguments[0] != "action":
            raise
        passed_on["TJBENCH_UPGRADE_FAILURE"] = str(error)
        return passed_on
    if warning is not None:
        passed_on["TJBENCH_UPGRADE_WARNING"] = warning
    return passed_on


def main() -> int:
    """Prepare and become ``tjb``; returns an exit code only when there is nothing to become."""
    environ = dict(os.environ)
    try:
        launch = plan(sys.argv[1:], environ)
        binaries = Path(sys.prefix) / "bin"
        python = Path(environ.get("TJBENCH_TOKENJAM_PYTHON", sys.executable))
        upgrade = Upgrade(installer=find_installer(python, environ), python=python)
        passed_on = prepare(launch, upgrade, environ)
    except TjbError as error:
        _announce("error", str(error), environ)
        return error.exit_code
    except Exception:
        traceback.print_exc()
        _announce("error", "the container could not be prepared: a bug, see the traceback", environ)
        return ExitCode.INCOMPLETE
    if "TJBENCH_UPGRADE_WARNING" in passed_on:
        _announce("warning", passed_on["TJBENCH_UPGRADE_WARNING"], environ)
    # -I: neither PYTHONPATH nor the workspace, which is the working directory, adds code of its own.
    return _become([str(binaries / "python"), "-I", "-u", str(binaries / "tjb"), *launch.arguments], passed_on)


def _become(command: list[str], environ: Mapping[str, str]) -> NoReturn:
    os.execve(command[0], command, environ)


def _take_flag(arguments: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The arguments without ``--tokenjam-version``, which is for the container, and its value."""
    words: list[str] = []
    value = ""
    rest = iter(arguments)
    for word in rest:
        name, equals, inline = word.partition("=")
        if name != VERSION_FLAG:
            words.append(word)
            continue
        value = inline if equals else next(rest, "")
        if not value:
            raise UsageError(f"{VERSION_FLAG} has no value", fix=f"write {VERSION_FLAG} latest")
    return tuple(words), value


def _announce(level: str, message: str, environ: Mapping[str, str]) -> None:
    """Say it on stderr, since stdout may be one JSON document; in GitHub's log as an annotation."""
    if environ.get("GITHUB_ACTIONS") == "true":
        escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        print(f"::{level} title=TokenJam Bench::{escaped}", file=sys.stderr, flush=True)
    else:
        print(f"{level}: {message}", file=sys.stderr, flush=True)
