"""`tjb score`: judge answers made elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tjbench.cli import options


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(short_help="Judge answers made elsewhere by a suite's checks.")(score)


def score(
    benchmark: Annotated[str, typer.Option(help="A built-in suite or a suite file.")],
    completions: Annotated[
        Path, typer.Option(help='Answers as JSONL, also as .jsonl.gz: {"task_id": "…", "completion": "…"} a line.')
    ],
    data: options.Data = None,
    json: options.Json = False,
    allow_unsandboxed: options.Unsandboxed = False,
) -> int:
    """Judge answers made elsewhere by a suite's own checks, many a task if there are.

    pass@k is the unbiased estimate (Chen et al. 2021), averaged over the tasks that were answered. A sample that could
    not be judged counts in no rate. Exits 0 whatever passes, 3 when nothing could be judged.

    Example: tjb score --benchmark humaneval --completions answers.jsonl.gz --json
    """
    from tjbench.score import ScoreRequest, score_completions
    from tjbench.workplace import Workplace

    request = ScoreRequest(
        benchmark=benchmark, completions=completions, data=data, json=json, allow_unsandboxed=allow_unsandboxed
    )
    place = Workplace(root=Path.cwd(), environ=os.environ)
    return score_completions(request, place, stdout=sys.stdout, stderr=sys.stderr)
