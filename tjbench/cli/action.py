"""`tjb action`: what the container calls; hidden, since people call `tjb ci`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(hidden=True)(action)


def action() -> int:
    """Run the gate for a workflow event: `tjb ci` fed by INPUT_* and GITHUB_*, and publish what it finds.

    Example: docker run -e INPUT_MOCK=true -v "$PWD:/github/workspace" -w /github/workspace IMAGE action
    """
    from tjbench.action import run_action
    from tjbench.action_inputs import open_action

    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    return run_action(open_action(os.environ, root, sys.stdout))
