"""`tjb ci` on any machine: the gate with its collaborators from the working directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.ci import GateResult, run_gate, unconcluded
from tjbench.config import Config
from tjbench.errors import ExitCode, IncompleteError
from tjbench.progress import Progress
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


def run_ci(request: CiRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Pin the baseline first, then measure, decide and tell. On a CI machine price overrides are not applied."""
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


def _measured(request: CiRequest, place: Workplace, stderr: TextIO) -> GateResult:
    config = request.config
    baseline = place.baseline(request.baseline, directory=config.baseline.dir, branches=config.baseline.branches)
    label = baseline.label
    print(f"baseline: {label.ref or 'none'}{f' at {label.sha[:12]}' if label.sha else ''}", file=stderr)
    snapshot = place.snapshot(config, trust_overrides=not place.environ.get("CI"))
    with place.opened(config, snapshot, Progress(stderr), request.options) as run:
        if run.mock:
            print(MOCK_NOTICE, file=stderr)
        return run_gate(run, baseline)
