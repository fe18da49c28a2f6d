"""`tjb upgrade-check`: what another TokenJam changes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options
from tjbench.cli.gate import FailOn


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("upgrade-check", short_help="Say what another TokenJam version changes, for $0.")(upgrade_check)


def upgrade_check(
    before: Annotated[
        str | None,
        typer.Option("--from", help="Version now; default: that of the stored artifacts, else the installed one."),
    ] = None,
    to: Annotated[str, typer.Option("--to", help="latest, installed, X.Y.Z or path:DIR.")] = "latest",
    results: Annotated[
        Path | None, typer.Option(help="Directory of artifacts to reprice; default: results, where it is there.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Measure the pairs whose recommendation changed.")] = False,
    config: options.ConfigFile = None,
    fail_on: FailOn = None,
    mock: options.LiveUnlessMock = None,
    max_cost_usd: options.MaxCost = None,
    concurrency: options.Concurrency = None,
    out: options.Out = Path("results"),
    journal: options.Journal = None,
    json: options.Json = False,
) -> int:
    """Compare two TokenJam versions: recommendations, prices, and stored measurements at both.

    No model is called without --run, and with it only for pairs whose recommendation changed. Exits 1 where the policy
    `recommendation` is in fail-on and one changed, 3 where the package index cannot be reached.

    Example: tjb upgrade-check --from 0.5.2 --to 0.7.0
    """
    from tjbench.settings import overridden
    from tjbench.tell_upgrade import tell_upgrade
    from tjbench.upgrade_run import UpgradeRequest
    from tjbench.workplace import RunOptions, Workplace

    place = Workplace(root=Path.cwd(), environ=os.environ)
    flags = {"fail_on": fail_on, "mock": mock, "max_cost_usd": max_cost_usd, "concurrency": concurrency}
    default = Path("results")
    request = UpgradeRequest(
        config=overridden(place.read_config(config), flags, "--"),
        before=before,
        after=to,
        results=results or (default if default.is_dir() else None),
        options=RunOptions(out=out, journal=journal),
        run=run,
    )
    return tell_upgrade(request, place, as_json=json, stdout=sys.stdout, stderr=sys.stderr)
