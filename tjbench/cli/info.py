"""`tjb recommend`, `tjb version`, `tjb benchmarks` and `tjb doctor`: what is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Show what the installed TokenJam recommends.")(recommend)
    app.command(short_help="List the built-in suites.")(benchmarks)
    app.command(short_help="Show the versions of TokenJam Bench and TokenJam.")(version)
    app.command(short_help="Look at what a run finds here, and try the sandbox.")(doctor)


def recommend(
    original: Annotated[str | None, typer.Option(help="The model in use, as provider:model.")] = None,
    all: Annotated[bool, typer.Option("--all", help="TokenJam's whole map.")] = False,
    json: options.Json = False,
) -> int:
    """Show which cheaper model the installed TokenJam recommends, and what its rates imply is saved.

    Example: tjb recommend --original anthropic:claude-opus-4-8
    """
    from tjbench.recommend import tell_recommendations

    return tell_recommendations(
        original, everything=all, as_json=json, environ=os.environ, cwd=Path.cwd(), stdout=sys.stdout
    )


def benchmarks(json: options.Json = False) -> int:
    """List the built-in suites.

    Example: tjb benchmarks
    """
    from tjbench.recommend import tell_benchmarks

    return tell_benchmarks(as_json=json, stdout=sys.stdout)


def version(json: options.Json = False) -> int:
    """Show the versions of TokenJam Bench and of the TokenJam it asks; warn when another `tjb` comes first.

    Example: tjb version
    """
    from tjbench.recommend import tell_version

    return tell_version(as_json=json, environ=os.environ, cwd=Path.cwd(), stdout=sys.stdout, stderr=sys.stderr)


def doctor(json: options.Json = False) -> int:
    """Look at what a run finds here: the sandbox by trying it, TokenJam, keys by name, clashing installations.

    Example: tjb doctor
    """
    from tjbench.doctor import tell_findings

    return tell_findings(as_json=json, environ=os.environ, cwd=Path.cwd(), stdout=sys.stdout)
