"""`tjb replay`: a history of one's own against a cheaper model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Ask a cheaper model what your own TokenJam history holds.")(replay)


def replay(
    telemetry: Annotated[
        Path,
        typer.Option(help="A TokenJam store (.duckdb), an export of it, or turns as JSON; it is never written to."),
    ],
    candidate: Annotated[
        str | None, typer.Option(help="The cheaper model, as provider:model; default: what TokenJam recommends.")
    ] = None,
    judge: Annotated[
        str, typer.Option(help="What decides agreement: overlap, openai, deepseek, anthropic, or provider:model.")
    ] = "overlap",
    control: Annotated[
        bool, typer.Option("--control", help="Ask the original again too: its agreement with itself is the yardstick.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N calls, over all originals.")] = None,
    since: Annotated[str | None, typer.Option(help="Only calls from then on: a date, or 12h, 7d, 2w.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only calls of this agent.")] = None,
    original: Annotated[
        str | None, typer.Option(help="The model that answered, for records that name none (openevals).")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Output tokens per call at most.")] = 2048,
    mock: options.Mock = None,
    concurrency: options.Concurrency = None,
    max_cost_usd: options.MaxCost = None,
    allow_unpriced: options.AllowUnpriced = False,
    out: options.Out = Path("results"),
    html: options.Html = None,
    json: options.Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is asked, kept already and spent at most, and stop.")
    ] = False,
    journal: options.Journal = None,
    no_journal: Annotated[
        bool, typer.Option("--no-journal", help="Keep no answer on disk; what is interrupted is paid for again.")
    ] = False,
    no_cache: options.NoCache = False,
) -> int:
    """Replay recorded calls on a cheaper model and say how often it agrees with what was answered then.

    One artifact an original, without any text. Without --control nothing is tested: the agreement rate is reported and
    the verdict is insufficient_evidence. Exits 0 whatever the agreement is, 3 when there is nothing to replay.
    docs/replay.md says what is read and what leaves the machine.

    Example: tjb replay --telemetry ~/.tj/telemetry.duckdb --since 7d --limit 100 --control --max-cost-usd 2
    """
    from tjbench.config import config_of
    from tjbench.replay import ReplayRequest
    from tjbench.replay import replay as run_replay
    from tjbench.workplace import RunOptions, Workplace

    calls = {
        "concurrency": concurrency or 16,
        "max_cost_usd": max_cost_usd,
        "mock": "auto" if mock is None else mock,
        "allow_unpriced": allow_unpriced,
    }
    request = ReplayRequest(
        telemetry=telemetry,
        config=config_of({"proof": [{"max_tokens": max_tokens}], "run": calls}, "--"),
        options=RunOptions(
            out=out, journal=journal, reuse_answers=not no_cache, silent_mock=True, keep_answers=not no_journal
        ),
        candidate=candidate,
        original=original,
        judge=judge,
        control=control,
        limit=limit,
        since=since,
        agent=agent,
        html=html,
        json=json,
        dry_run=dry_run,
    )
    place = Workplace(root=Path.cwd(), environ=os.environ)
    return run_replay(request, place, stdout=sys.stdout, stderr=sys.stderr)
