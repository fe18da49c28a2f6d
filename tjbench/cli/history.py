"""`tjb history`: the measurements that are stored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="List stored measurements and follow them over time.")(history)


def history(
    action: Annotated[str, typer.Argument(metavar="list|show|trend|ingest", help="What to do.")] = "list",
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="show: an id or file name, or the beginning of one.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Directory of artifacts.")] = Path("results"),
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Only this original or candidate, with or without its provider.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="Only this tokenjam version.")] = None,
    since: Annotated[str | None, typer.Option(help="Measured then or later: a date or time, UTC.")] = None,
    until: Annotated[str | None, typer.Option(help="Measured then or earlier; a date includes its day.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, the newest.")] = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV on stdout and nothing else there.")] = False,
) -> int:
    """List stored measurements, show one, or follow each row over TokenJam's versions.

    list and trend take filters, show takes an ID, ingest makes the index anew. The index, history.duckdb beside the
    artifacts, is brought up to date each time; what is no artifact is named on stderr and skipped.

    Example: tjb history trend --suite humaneval --since 2026-09-01
    """
    from tjbench.compare.history import Filter, instant
    from tjbench.errors import UsageError
    from tjbench.history import HistoryAction, HistoryRequest, tell_history

    if action not in list(HistoryAction):
        raise UsageError(f"tjb history cannot {action!r}", fix=f"one of {', '.join(HistoryAction)}")
    wanted = Filter(
        suite=suite,
        model=model,
        version=version,
        since=instant(since, end=False) if since is not None else None,
        until=instant(until, end=True) if until is not None else None,
        limit=limit,
    )
    request = HistoryRequest(
        action=HistoryAction(action), results=results, name=name, wanted=wanted, json=json, csv=csv
    )
    return tell_history(request, stdout=sys.stdout, stderr=sys.stderr)
