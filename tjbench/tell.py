"""Decisions and series told: Markdown for people, one JSON document for programs, files where asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from tjbench.ci import gate_stored, series_of
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel, Decision, DecisionRow
from tjbench.compare.series import Series, Step
from tjbench.config import Config
from tjbench.errors import ExitCode, UsageError
from tjbench.report.html import render_artifact_html, render_html
from tjbench.report.markdown import render_artifact, render_decision, render_series
from tjbench.store.artifacts import Baseline, dump, load_path, read_claims
from tjbench.store.files import unwritable, unwritten, write_whole
from tjbench.store.legacy import is_legacy
from tjbench.store.shelf import open_shelf
from tjbench.verify import Verification, verify, verify_legacy


def tell_decision(
    decision: Decision,
    *,
    artifacts: Sequence[Artifact],
    as_json: bool,
    markdown: Path | None,
    html: Path | None,
    stdout: TextIO,
    stderr: TextIO,
) -> None:
    """Print the report (to stderr under ``--json``) and write the files that were asked for."""
    people = stderr if as_json else stdout
    people.write(f"{render_decision(decision, folded=False, width=columns(people)).rstrip()}\n")
    if as_json:
        stdout.write(decision_json(decision) + "\n")
    if markdown:
        write_text(markdown, render_decision(decision))
    if html:
        write_text(html, render_html(decision, artifacts))


def tell_gate(
    head: Path,
    baseline: Path,
    config: Config,
    *,
    as_json: bool,
    markdown: Path | None,
    stdout: TextIO,
    stderr: TextIO,
) -> ExitCode:
    """`tjb gate`: decide over stored artifacts and tell."""
    before = Baseline(label=BaselineLabel(ref=str(baseline)), loaded=load_path(baseline))
    now = load_path(head)
    decision = gate_stored(now, before, config)
    tell_decision(
        decision,
        artifacts=list(now.artifacts.values()),
        as_json=as_json,
        markdown=markdown,
        html=None,
        stdout=stdout,
        stderr=stderr,
    )
    return decision.exit_code


def tell_matrix(directory: Path, *, as_json: bool, stdout: TextIO, most: int | None = None) -> ExitCode:
    """`tjb matrix`: every series, and exit 1 when the last step of one is a regression."""
    series, decision = series_of(open_shelf(directory), Config(), most)
    code = ExitCode.REGRESSION if decision.exit_code is ExitCode.REGRESSION else ExitCode.PASSED
    if as_json:
        stdout.write(json.dumps(series_json(series, decision, code), indent=1) + "\n")
    else:
        ending = [*decision.reasons, *decision.notes]
        stdout.write("\n".join([render_series(series, width=columns(stdout)).rstrip(), "", *ending, ""]))
    return code


def tell_report(
    path: Path, *, checked: bool, as_json: bool, html: Path | None, stdout: TextIO, stderr: TextIO
) -> ExitCode:
    """`tjb report`: a stored artifact as a report, or ``checked``: whether its numbers follow from its tasks."""
    artifact, data = read_claims(path)
    if html:
        write_text(html, render_artifact_html(artifact))
        stderr.write(f"report: {html}\n")
    if not checked:
        stdout.write(dump(artifact) if as_json else render_artifact(artifact))
        return ExitCode.PASSED
    found = verify_legacy(data, artifact) if is_legacy(data) else verify(artifact)
    stdout.write(json.dumps(verification_json(path, found), indent=1) + "\n" if as_json else _verdict_on(path, found))
    return ExitCode.REGRESSION if found.mismatches else ExitCode.PASSED


def verification_json(path: Path, found: Verification) -> dict[str, object]:
    """What was recomputed, what differs, and what could not be recomputed."""
    return {
        "file": str(path),
        "verified": not found.mismatches,
        "n_checked": found.checked,
        "mismatches": [asdict(mismatch) for mismatch in found.mismatches],
        "not_recomputed": dict(found.unverifiable),
    }


def _verdict_on(path: Path, found: Verification) -> str:
    wrong = len(found.mismatches)
    result = f"{wrong} of {found.checked} do not follow" if wrong else f"all {found.checked} follow"
    lines = [f"{path}: of its derived numbers {result} from its tasks"]
    lines += [f"  {mismatch}" for mismatch in found.mismatches]
    lines += [f"  not recomputed: {name}: {why}" for name, why in found.unverifiable.items()]
    return "\n".join([*lines, ""])


def columns(stream: TextIO) -> int | None:
    """The width of the terminal that ``stream`` is; ``None`` for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def decision_json(decision: Decision) -> str:
    """The decision as an indented JSON document."""
    return decision.model_dump_json(indent=1)


def series_json(series: Series, decision: Decision, code: ExitCode) -> dict[str, object]:
    """Steps in series order, each held against the one before; ``last`` is the judged step of each series."""
    return {
        "exit_code": int(code),
        "status": decision.status,
        "reasons": decision.reasons,
        "steps": [_step_json(step, step.row.head) for step in series.steps if step.row.head is not None],
        "earlier_steps": series.earlier,
        "last": [_dumped(row) for row in decision.rows],
        "notes": decision.notes,
    }


def _step_json(step: Step, head: Artifact) -> dict[str, object]:
    row, change = step.row, step.row.change
    return {
        "suite": row.key.suite,
        "original_model": row.key.original,
        "slot": row.key.slot,
        "tokenjam_version": head.tokenjam_version,
        "candidate_model": head.candidate_model,
        "n_scored": head.n_scored,
        "original_pass": head.original_pass,
        "candidate_pass": head.candidate_pass,
        "accuracy_delta_pp": head.accuracy_delta_pp,
        "cost_delta_pct": head.measured_cost_delta_pct,
        "verdict": head.verdict,
        "early_stop": head.early_stop and head.early_stop.model_dump(),
        "lacking": step.lacking,
        "previous_version": row.baseline.tokenjam_version if row.baseline else None,
        "previous_candidate": row.baseline.candidate_model if row.baseline else None,
        "status": step.status,
        "reason": step.reason,
        "standing": row.standing,
        "why": row.why,
        "b": change.b if change else None,
        "c": change.c if change else None,
        "p_value": change.p_one_sided if change else None,
        "broke": change.broke if change else (),
        "broke_surely": change.broke_surely if change else (),
        "recovered": change.recovered if change else (),
        "unscored": step.unscored,
        "attribution": str(step.attribution) if step.attribution else None,
        "changes": asdict(step.changes) if step.changes else None,
        "prompt_changed": row.overlap.prompt_changed,
        "added": row.overlap.added,
        "removed": row.overlap.removed,
        "rechecked": row.overlap.rechecked,
    }


def require_writable(path: Path) -> None:
    """Refuse a report path before anything is spent; raises ``UsageError``."""
    if why := unwritable(path):
        fix = "name a file in it" if path.is_dir() else "name another file"
        raise UsageError(f"cannot write {path}", why=why, fix=fix)


def write_text(path: Path, text: str) -> None:
    """Write a report whole, or leave what is there; raises ``UsageError`` where the path cannot be written, and
    ``IncompleteError`` where the disk is full."""
    try:
        write_whole(path.resolve(), text)
    except OSError as error:
        raise unwritten(path, error, "name another file") from error


def _dumped(row: DecisionRow) -> dict[str, object]:
    return row.model_dump(mode="json")
