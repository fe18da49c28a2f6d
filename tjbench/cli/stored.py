"""`tjb report` and `tjb plan`: what a stored measurement says, and what the next one needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(report)
    app.command()(plan)


def report(
    file: Annotated[Path, typer.Argument(help="An artifact: tjbench_*.json.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute every derived number from the tasks instead of showing them.")
    ] = False,
    html: options.Html = None,
    json: options.Json = False,
) -> int:
    """Show a stored artifact as a report, or check that its numbers follow from its tasks.

    With --verify exits 1 where one does not, naming it; what the file cannot bear out is said.

    Example: tjb report results/tjbench_samples_tj0.7.0_20261129T145920Z-b52009.json --verify
    """
    from tjbench.tell import tell_report

    return tell_report(file, checked=verify, as_json=json, html=html, stdout=sys.stdout, stderr=sys.stderr)


def plan(
    artifact: Annotated[Path, typer.Option(help="An artifact, or a directory of them: one plan a row.")],
    drop_pp: Annotated[
        float | None,
        typer.Option("--drop-pp", min=0.1, max=99, help="The drop in points; default: the artifact's own margin."),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="Only rows of this suite.")] = None,
    json: options.Json = False,
) -> int:
    """Say how many tasks, and dollars, rule out or detect a drop, from the flips and tokens of a stored measurement.

    Both with 80 % power: ruling out is for a candidate that is no worse, detecting for one that is worse by the drop.

    Example: tjb plan --artifact results/baseline --drop-pp 5
    """
    from tjbench.plan import tell_plan

    return tell_plan(artifact, drop_pp=drop_pp, suite=suite, as_json=json, stdout=sys.stdout)
