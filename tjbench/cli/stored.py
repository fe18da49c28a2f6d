"""`tjb report`, `tjb plan`, `tjb import` and `tjb merge`: what is done with measurements that are there already."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Show a stored artifact, or recompute its numbers.")(report)
    app.command(short_help="Size and price the next measurement.")(plan)
    app.command("import", short_help="Take in results measured elsewhere.")(import_)
    app.command(short_help="Put the shards of a split run together.")(merge)


def report(
    file: Annotated[Path, typer.Argument(help="An artifact: tjbench_*.json.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute every derived number from the tasks instead of showing them.")
    ] = False,
    html: options.Html = None,
    json: options.Json = False,
) -> int:
    """Show a stored artifact, or check its numbers.

    With --verify exits 1 where a number does not follow from the tasks, naming it; what the file cannot bear out is
    said.

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
    """Say how many tasks, and dollars, a drop needs.

    To rule it out where nothing changed, and to detect it where the candidate is that much worse, each with 80 %
    power. Flips and tokens are those of a stored measurement; where few tasks differ, a flip rate of 5 % is assumed.

    Example: tjb plan --artifact results/baseline --drop-pp 5
    """
    from tjbench.plan import tell_plan

    return tell_plan(artifact, drop_pp=drop_pp, suite=suite, as_json=json, stdout=sys.stdout)


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Result files.", show_default=False)],
    tool: Annotated[str, typer.Option("--from", help="What wrote them: csv, promptfoo, inspect, lm-eval or deepeval.")],
    original: Annotated[str, typer.Option(help="The model in use, as provider:model.")],
    candidate: Annotated[str, typer.Option(help="The cheaper model, as provider:model.")],
    suite: Annotated[
        str | None, typer.Option(help="Name of the suite, or which of several; default: as the results say.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="The score that decides, where there are several; default: the first.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Pass from this score on, where it is neither 0 nor 1.")
    ] = None,
    out: options.Out = Path("results"),
    json: options.Json = False,
) -> int:
    """Make artifacts of results that another tool measured.

    One a suite, with their cost where they have one; they pass through tjb gate, matrix, report and plan like our own.
    Exits 3 where too many tasks are unscored. docs/import.md says what is read of each tool.

    Example: tjb import --from promptfoo results.json --original openai:gpt-4o --candidate openai:gpt-4o-mini
    """
    from tjbench.imported import ImportRequest, import_results
    from tjbench.imports.outcome import Choice

    request = ImportRequest(
        tool=tool,
        files=tuple(files),
        original=original,
        candidate=candidate,
        suite=suite,
        choice=Choice(metric=metric, threshold=threshold),
        out=out,
        json=json,
    )
    return import_results(request, os.environ, Path.cwd(), stdout=sys.stdout, stderr=sys.stderr)


def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|DIR...", help="Shards, or directories that hold them.", show_default=False),
    ],
    out: options.Out = Path("results"),
    json: options.Json = False,
) -> int:
    """Make of all shards of a split run the measurement that one machine would have made.

    One artifact a row, every number derived anew. Exits 3 where a shard is missing or too many tasks are unscored, 2
    where shards are not of one run.

    Example: tjb merge shards --out results
    """
    from tjbench.merge import tell_merge

    return tell_merge(paths, out, as_json=json, stdout=sys.stdout, stderr=sys.stderr)
