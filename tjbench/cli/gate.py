"""`tjb ci`, `tjb gate` and `tjb matrix`: measurements held against each other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options

FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Policies that fail, by comma: regression, downsize, recommendation, … or never."),
]
Alpha = Annotated[float | None, typer.Option(help="Family-wise error of the gate; default 0.05.")]
Margin = Annotated[float | None, typer.Option("--margin-pp", help="Drop to rule out, in points; default 10.")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Show every series across TokenJam versions.")(matrix)
    app.command(short_help="Hold stored artifacts against a stored baseline.")(gate)
    app.command(short_help="Run the whole gate: measure, compare, decide.")(ci)


def matrix(
    dir: Annotated[Path, typer.Option(help="Directory that holds artifacts.")] = Path("results"),
    steps: Annotated[int, typer.Option(min=1, help="So many last steps of a series.")] = 10,
    json: options.Json = False,
) -> int:
    """Show every series across TokenJam versions, each step against the one before, paired by task.

    What is shown is read whole and held against its tasks; of all other files only the labels are read.

    Exits 1 when the last step of a series is a regression.

    Example: tjb matrix --dir results
    """
    from tjbench.tell import tell_matrix

    return tell_matrix(dir, as_json=json, stdout=sys.stdout, most=steps)


def gate(
    baseline: Annotated[Path, typer.Option(help="Directory with the baseline's artifacts.")],
    head: Annotated[Path, typer.Option(help="Directory with the artifacts to judge.")],
    fail_on: FailOn = None,
    alpha: Alpha = None,
    margin_pp: Margin = None,
    json: options.Json = False,
    markdown: options.Markdown = None,
) -> int:
    """Hold stored artifacts against a stored baseline, paired by task, and decide; nothing is called.

    Example: tjb gate --baseline results/baseline --head results
    """
    from tjbench.settings import gate_config
    from tjbench.tell import tell_gate

    config = gate_config(fail_on=fail_on, alpha=alpha, margin_pp=margin_pp)
    return tell_gate(head, baseline, config, as_json=json, markdown=markdown, stdout=sys.stdout, stderr=sys.stderr)


def ci(
    config: options.ConfigFile = None,
    baseline: Annotated[
        str, typer.Option(help="auto (last release branch), branch:NAME, ref:SHA, path:DIR or none.")
    ] = "auto",
    mock: options.LiveUnlessMock = None,
    max_cost_usd: options.MaxCost = None,
    deadline_minutes: options.DeadlineMinutes = None,
    allow_unpriced: options.AllowUnpriced = False,
    concurrency: options.Concurrency = None,
    data: options.Data = None,
    judge: options.Judge = None,
    fail_on: FailOn = None,
    alpha: Alpha = None,
    margin_pp: Margin = None,
    reuse: Annotated[
        str | None, typer.Option(help="Baseline outcomes that stand in for calls: never, original (default) or all.")
    ] = None,
    confirm: Annotated[
        bool | None,
        typer.Option("--confirm/--no-confirm", help="Ask the tasks that broke once more before failing."),
    ] = None,
    early_stop: options.EarlyStop = None,
    out: options.Out = Path("results"),
    journal: options.Journal = None,
    no_cache: options.NoCache = False,
    markdown: options.Markdown = None,
    html: options.Html = None,
    json: options.Json = False,
    allow_unsandboxed: options.Unsandboxed = False,
    shard: options.Shard = None,
    merge: Annotated[
        list[Path] | None, typer.Option(help="Measure nothing: merge and judge the shards in this directory.")
    ] = None,
) -> int:
    """Run the whole gate: measure what tjbench.toml asks for, compare with the baseline, decide.

    Example: tjb ci --mock --baseline path:results/baseline
    """
    from tjbench.local import CiRequest, run_ci
    from tjbench.settings import overridden
    from tjbench.shard import Shard
    from tjbench.workplace import RunOptions, Workplace

    place = Workplace(root=Path.cwd(), environ=os.environ)
    flags = {
        "mock": mock,
        "max_cost_usd": max_cost_usd,
        "deadline_minutes": deadline_minutes,
        "allow_unpriced": allow_unpriced or None,
        "concurrency": concurrency,
        "data": data,
        "judge": judge,
        "fail_on": fail_on,
        "alpha": alpha,
        "margin_pp": margin_pp,
        "confirm": confirm,
        "early_stop": early_stop,
        "reuse": reuse,
    }
    if notice := place.default_notice(config):
        print(f"tjb ci: {notice}", file=sys.stderr)
    request = CiRequest(
        config=overridden(place.read_config(config), flags, "--"),
        baseline=baseline,
        options=RunOptions(
            out=out,
            journal=journal,
            reuse_answers=not no_cache,
            allow_unsandboxed=allow_unsandboxed,
            shard=Shard.parse(shard) if shard else None,
        ),
        merge=tuple(merge or ()),
        markdown=markdown,
        html=html,
        json=json,
    )
    return run_ci(request, place, stdout=sys.stdout, stderr=sys.stderr)
