"""`tjb run`: measure one pair on one suite."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Measure one pair on one suite and state the verdict.")(run)


def run(
    benchmark: Annotated[str, typer.Option(help="A built-in suite or a suite file.")] = "samples",
    original: Annotated[str, typer.Option(help="The model in use, as provider:model.")] = "anthropic:claude-opus-4-7",
    candidate: Annotated[
        str | None, typer.Option(help="The cheaper model; default: what the installed tokenjam recommends.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks.")] = None,
    samples: Annotated[int, typer.Option(min=1, max=100, help="Attempts per task and model.")] = 1,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Default: the provider's own.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Output tokens per call at most.")] = 2048,
    seed: Annotated[int | None, typer.Option(help="Seed of the call and of scripted models.")] = None,
    mock: options.Mock = None,
    concurrency: options.Concurrency = None,
    max_cost_usd: options.MaxCost = None,
    deadline_minutes: options.DeadlineMinutes = None,
    allow_unpriced: options.AllowUnpriced = False,
    out: options.Out = Path("results"),
    html: options.Html = None,
    json: options.Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is asked, kept already and spent at most, and stop.")
    ] = False,
    journal: options.Journal = None,
    no_cache: options.NoCache = False,
    data: options.Data = None,
    judge: options.Judge = None,
    early_stop: options.EarlyStop = None,
    allow_unsandboxed: options.Unsandboxed = False,
    shard: options.Shard = None,
) -> int:
    """Run the same tasks on the original and on the cheaper candidate, score both, and state the verdict.

    Exits 0 whatever the verdict is; a run that could not be measured exits 3.

    Example: tjb run --benchmark humaneval --original openai:gpt-4o --candidate openai:gpt-4o-mini --limit 50
    """
    from tjbench.config import config_of
    from tjbench.run import RunRequest, run_once
    from tjbench.shard import Shard
    from tjbench.workplace import RunOptions, Workplace

    proof = {
        "suite": benchmark,
        "original": original,
        "candidate": candidate,
        "limit": limit,
        "samples": samples,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "data": data,
    }
    calls = {
        "concurrency": concurrency or 16,
        "max_cost_usd": max_cost_usd,
        "deadline_minutes": deadline_minutes,
        "allow_unpriced": allow_unpriced,
        "mock": "auto" if mock is None else mock,
    }
    gate = {"early_stop": bool(early_stop)}
    request = RunRequest(
        config=config_of({"proof": [proof], "run": calls, "judge": {"model": judge}, "gate": gate}, "--"),
        options=RunOptions(
            out=out,
            journal=journal,
            reuse_answers=not no_cache,
            silent_mock=True,
            allow_unsandboxed=allow_unsandboxed,
            shard=Shard.parse(shard) if shard else None,
        ),
        html=html,
        json=json,
        dry_run=dry_run,
    )
    place = Workplace(root=Path.cwd(), environ=os.environ)
    return run_once(request, place, stdout=sys.stdout, stderr=sys.stderr)
