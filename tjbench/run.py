"""`tjb run`: one pair on one suite, measured and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.bench import BenchResult
from tjbench.compare.artifact import Artifact
from tjbench.config import Config
from tjbench.dry_run import DryRun, tell_dry_run
from tjbench.errors import ExitCode, TjbError, UsageError
from tjbench.measure import measure
from tjbench.progress import Progress
from tjbench.report.html import render_artifact_html
from tjbench.report.markdown import render_artifact
from tjbench.rows import Rows, plan_rows
from tjbench.store.artifacts import dump
from tjbench.store.transcripts import write_transcripts
from tjbench.tell import require_writable, write_text
from tjbench.workplace import MOCK_NOTICE, RunOptions, Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What `tjb run` was asked for beside its configuration."""

    config: Config
    options: RunOptions
    html: Path | None = None
    json: bool = False
    dry_run: bool = False


def run_once(request: RunRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Measure and tell: people read stderr under ``--json`` and stdout otherwise."""
    if request.html:
        require_writable(request.html)
    snapshot = place.snapshot(request.config, trust_overrides=True)
    for name in snapshot.overrides:
        print(f"warning: prices are overridden by {name}", file=stderr)
    if request.dry_run:
        rows = plan_rows(request.config, snapshot, place.suite_loader(), request.options.shard)
        _require_candidates(rows)
        wanted = DryRun(
            config=request.config, rows=rows, snapshot=snapshot, options=request.options, as_json=request.json
        )
        return tell_dry_run(wanted, place, stdout=stdout, stderr=stderr)
    with place.opened(request.config, snapshot, Progress(stderr), request.options) as run:
        _require_candidates(run.rows)
        if run.mock:
            print(MOCK_NOTICE, file=stderr)
        result, written = measure(run)
    unwritten = _keep_transcripts(result, written)
    for path, artifact in written.items():
        _tell(artifact, path, request, stdout, stderr)
    for line in result.spending.lines():
        print(line, file=stderr if request.json else stdout)
    for problem in result.problems:
        print(f"warning: {problem}", file=stderr)
    if unwritten:
        raise unwritten
    if not any(artifact.incomplete for artifact in written.values()):
        return ExitCode.PASSED
    if result.misconfigured:
        return ExitCode.USAGE
    # Whether enough is scored is asked of the whole: a shard's own share may lie above the tolerance.
    return ExitCode.PASSED if request.options.shard else ExitCode.INCOMPLETE


def _keep_transcripts(result: BenchResult, written: Mapping[Path, Artifact]) -> TjbError | None:
    """What hinders the keeping of what was said hinders nobody from reading what came of it."""
    try:
        for path, measured in zip(written, result.measured, strict=True):
            write_transcripts(measured.answers, path)
    except TjbError as error:
        return error
    return None


def _require_candidates(rows: Rows) -> None:
    for why in rows.withdrawn.values():
        raise UsageError(why, fix="name one: --candidate provider:model")


def _tell(artifact: Artifact, path: Path, request: RunRequest, stdout: TextIO, stderr: TextIO) -> None:
    people = stderr if request.json else stdout
    people.write(f"{render_artifact(artifact).rstrip()}\n\nartifact: {path}\n")
    if shard := artifact.shard:
        people.write(f"shard {shard.index} of {shard.count}: no measurement until all are merged by tjb merge\n")
    if request.json:
        stdout.write(dump(artifact))
    if request.html:
        write_text(request.html, render_artifact_html(artifact))
        people.write(f"report: {request.html}\n")
