"""`tjb ci` on any machine: the gate with its collaborators from the working directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.ci import GateResult, gate_merged, run_gate, unconcluded
from tjbench.config import Config
from tjbench.errors import ExitCode, IncompleteError, UsageError
from tjbench.measure import measure
from tjbench.progress import Progress
from tjbench.rows import plan_rows
from tjbench.tell import require_writable, tell_decision
from tjbench.workplace import MOCK_NOTICE, RunOptions, Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class CiRequest:
    """What `tjb ci` was asked for beside its configuration."""

    config: Config
    baseline: str
    options: RunOptions
    markdown: Path | None = None
    html: Path | None = None
    json: bool = False
    merge: tuple[Path, ...] = ()


def run_ci(request: CiRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Pin the baseline first, then measure, decide and tell. On a CI machine price overrides are not applied."""
    if request.options.shard:
        return _measure_shard(request, place, stdout, stderr)
    for path in (request.markdown, request.html):
        if path:
            require_writable(path)
    try:
        result = _measured(request, place, stderr)
    except IncompleteError as error:
        result = unconcluded(error, request.config)
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


def _measure_shard(request: CiRequest, place: Workplace, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """A part of the run, for `tjb ci --merge` to judge with the others: artifacts, and no decision."""
    if request.merge or request.markdown or request.html:
        raise UsageError("--shard makes artifacts only", why="one run measures, a later one merges and judges")
    snapshot = place.snapshot(request.config, trust_overrides=not place.environ.get("CI"))
    with place.opened(request.config, snapshot, Progress(stderr), request.options) as run:
        if run.mock:
            print(MOCK_NOTICE, file=stderr)
        result, written = measure(run)
    for path in written:
        print(f"artifact: {path}", file=stderr)
    for line in (*result.spending.lines(), *(f"warning: {problem}" for problem in result.problems)):
        print(line, file=stderr)
    if request.json:
        stdout.write(
            json.dumps({"artifacts": [str(path) for path in written], "cost_usd": result.spending.spent_usd}) + "\n"
        )
    return ExitCode.USAGE if result.misconfigured else ExitCode.PASSED


def _measured(request: CiRequest, place: Workplace, stderr: TextIO) -> GateResult:
    config = request.config
    baseline = place.baseline(request.baseline, directory=config.baseline.dir, branches=config.baseline.branches)
    label = baseline.label
    print(f"baseline: {label.ref or 'none'}{f' at {label.sha[:12]}' if label.sha else ''}", file=stderr)
    snapshot = place.snapshot(config, trust_overrides=not place.environ.get("CI"))
    if request.merge:
        return gate_merged(
            request.merge,
            request.options.out,
            config=config,
            rows=plan_rows(config, snapshot, place.suite_loader()),
            snapshot=snapshot,
            baseline=baseline,
            commit=request.options.commit or place.commit(),
        )
    with place.opened(config, snapshot, Progress(stderr), request.options) as run:
        if run.mock:
            print(MOCK_NOTICE, file=stderr)
        return run_gate(run, baseline)
