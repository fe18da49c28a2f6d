"""`tjb run`: one pair on one suite, measured and told."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.compare.artifact import Artifact
from tjbench.config import Config
from tjbench.errors import ExitCode, UsageError
from tjbench.measure import Estimate, MeasureRun, estimate, is_mock, measure
from tjbench.models.cached import Journal
from tjbench.progress import Progress
from tjbench.report.html import render_artifact_html
from tjbench.report.markdown import render_artifact
from tjbench.rows import plan_rows
from tjbench.store.artifacts import dump
from tjbench.store.transcripts import write_transcripts
from tjbench.workplace import Workplace

MOCK_NOTICE = "MOCK RUN: scripted models answer; this measures no model. Set the providers' keys to measure."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What `tjb run` was asked for beside its configuration."""

    config: Config
    out: Path
    html: Path | None = None
    json: bool = False
    dry_run: bool = False
    journal: Path | None = None
    no_cache: bool = False
    allow_unsandboxed: bool = False


def run_once(request: RunRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Measure and tell: people read stderr under ``--json`` and stdout otherwise."""
    snapshot = place.snapshot(request.config, trust_overrides=True)
    for name in snapshot.overrides:
        print(f"warning: prices are overridden by {name}", file=stderr)
    rows = plan_rows(request.config, snapshot, place.suite_loader())
    for why in rows.withdrawn.values():
        raise UsageError(why, fix="name one: --candidate provider:model")
    progress = Progress(stderr)
    with ExitStack() as stack:
        journal = None if request.dry_run else _journal(request, place, stack)
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
            silent_mock=True,
            allow_unsandboxed=request.allow_unsandboxed,
        )
        if is_mock(run):
            print(MOCK_NOTICE, file=stderr)
        if request.dry_run:
            stdout.write(render_estimate(estimate(rows.plans, snapshot)))
            return ExitCode.PASSED
        result, written = measure(run)
    progress.finish()
    for (path, _), measured in zip(written.items(), result.measured, strict=True):
        write_transcripts(measured.answers, path)
    for path, artifact in written.items():
        _tell(artifact, path, request, stdout, stderr)
    for problem in result.problems:
        print(f"warning: {problem}", file=stderr)
    return ExitCode.INCOMPLETE if any(a.incomplete for a in written.values()) else ExitCode.PASSED


def render_estimate(estimates: list[Estimate]) -> str:
    """The dry run's table: what each model may cost at most."""
    lines = [
        f"{e.spec}: {e.calls} calls, about {e.input_tokens} input and at most {e.output_tokens} output tokens, "
        f"at most ${e.cost_usd:.4f}{'' if e.priced else ' (placeholder price: TokenJam does not know this model)'}"
        for e in estimates
    ]
    total = sum(e.cost_usd for e in estimates)
    return "\n".join([*lines, f"in all at most ${total:.4f}; nothing was called", ""])


def _journal(request: RunRequest, place: Workplace, stack: ExitStack) -> Journal:
    directory = request.journal or place.journal_directory()
    return stack.enter_context(Journal(directory, reuse=not request.no_cache))


def _tell(artifact: Artifact, path: Path, request: RunRequest, stdout: TextIO, stderr: TextIO) -> None:
    people = stderr if request.json else stdout
    people.write(f"{render_artifact(artifact).rstrip()}\n\nartifact: {path}\n")
    if request.html:
        request.html.write_text(render_artifact_html(artifact), encoding="utf-8")
        people.write(f"report: {request.html}\n")
    if request.json:
        stdout.write(dump(artifact))
