"""`tjb ci` on any machine: the gate with its collaborators from the working directory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.ci import run_gate
from tjbench.config import Config
from tjbench.errors import ExitCode
from tjbench.measure import MeasureRun, is_mock
from tjbench.models.cached import Journal
from tjbench.progress import Progress
from tjbench.rows import plan_rows
from tjbench.run import MOCK_NOTICE
from tjbench.tell import tell_decision
from tjbench.workplace import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class CiRequest:
    """What `tjb ci` was asked for beside its configuration."""

    config: Config
    baseline: str
    out: Path
    markdown: Path | None = None
    html: Path | None = None
    json: bool = False
    journal: Path | None = None
    no_cache: bool = False
    allow_unsandboxed: bool = False


def run_ci(request: CiRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Pin the baseline first, then measure, decide and tell. On a CI machine price overrides are not applied."""
    baseline = place.baseline(request.baseline, directory=request.config.baseline.dir)
    label = baseline.label
    print(f"baseline: {label.ref or 'none'}{f' at {label.sha[:12]}' if label.sha else ''}", file=stderr)
    snapshot = place.snapshot(request.config, trust_overrides=not place.environ.get("CI"))
    rows = plan_rows(request.config, snapshot, place.suite_loader())
    progress = Progress(stderr)
    with ExitStack() as stack:
        directory = request.journal or place.journal_directory()
        journal = stack.enter_context(Journal(directory, reuse=not request.no_cache))
        run = MeasureRun(
            config=request.config,
            snapshot=snapshot,
            rows=rows,
            open_live=place.live_opener(journal),
            environ=place.environ,
            out=request.out,
            watch=progress.watch,
            warn=progress.warn,
            commit=place.commit(),
            allow_unsandboxed=request.allow_unsandboxed,
        )
        if is_mock(run):
            print(MOCK_NOTICE, file=stderr)
        result = run_gate(run, baseline)
    progress.finish()
    for path in result.artifacts:
        print(f"artifact: {path}", file=stderr)
    tell_decision(
        result.decision,
        artifacts=list(result.artifacts.values()),
        as_json=request.json,
        markdown=request.markdown,
        html=request.html,
        stdout=stdout,
        stderr=stderr,
    )
    return result.decision.exit_code
