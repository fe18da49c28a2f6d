"""A decision made public: report files, step summary, outputs, annotations, and the comment last."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from tjbench.ci import GateResult
from tjbench.compare.decision import Decision, RowStatus, Status
from tjbench.errors import ExitCode, TjbError, UsageError
from tjbench.github.actions import Commands, Level, write_outputs, write_summary
from tjbench.github.comment import Marker, Posted, Thread, upsert_comment
from tjbench.github.event import Event
from tjbench.report.html import render_html
from tjbench.report.junit import render_junit
from tjbench.report.markdown import render_decision
from tjbench.store.files import unwritable, unwritten, write_whole

COMMENT_CHARACTERS = 65_000
VERDICT_KEYS = (
    "suite",
    "original_model",
    "candidate_model",
    "n_scored",
    "original_pass",
    "candidate_pass",
    "accuracy_delta_pp",
    "delta_ci_pp",
    "p_value",
    "cost_delta_pct",
    "verdict",
)
FOREIGN_NOTE = "this report comes from a fork's run, which the pull request may have changed"
REPORT_BYTES = 8 << 20
REPORTS = {"report-md": "tjbench-report.md", "report-html": "tjbench-report.html", "junit": "tjbench-junit.xml"}
"""The report files in the results directory, by output."""
VERSUS_KEYS = ("b", "c", "p_value", "adjusted_significant", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlace:
    """Where report files go; ``root`` is the workspace, and ``json`` the report for a later job that may comment."""

    root: Path
    directory: Path
    json: Path | None

    def shown(self, path: Path) -> str:
        """A path as later steps of the job see it: relative to the workspace."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Everything that a run tells GitHub. A comment that cannot be written is said, and fails nothing."""

    event: Event
    environ: Mapping[str, str]
    commands: Commands
    place: ReportPlace
    thread: Thread | None
    comment_id: str

    def publish(self, result: GateResult) -> None:
        """Files first, then log, summary and annotations, then the comment, then the outputs that name it all."""
        decision = result.decision
        files = self._write_files(result)
        try:
            give_to_owner([*files.values(), *result.artifacts], self.place.root)
        except OSError as error:
            self._notice(f"files in the workspace stay root's: {error.strerror or error}")
        report = render_decision(decision, run_url=self.event.run_url)
        with self.commands.group("TokenJam Bench report"):
            self.commands.print(render_decision(decision, folded=False))
        self._summarize(report)
        self._annotate(decision)
        kept = self.place.shown(files["report-md"]) if "report-md" in files else "the step summary"
        url = self._comment(decision, kept)
        outputs = {name: self.place.shown(files[name]) if name in files else "" for name in REPORTS}
        outputs |= {"results-dir": self.place.shown(self.place.directory), "comment-url": url}
        self._output({**outputs, **_facts(decision)})

    def post_stored(self) -> ExitCode:
        """Post the report of an earlier job, from its file: data from outside, checked and rendered anew.

        No output repeats what it says: a pull request may change the run that wrote it.
        """
        path = self.place.json
        if path is None:
            raise UsageError(
                "mode post-comment needs report-file",
                why="it posts the report of an earlier job",
                fix="download that job's artifact and name the file in it",
            )
        decision = read_report(path)
        if self.event.is_fork:
            decision = decision.model_copy(update={"notes": (*decision.notes, FOREIGN_NOTE)})
        self._summarize(render_decision(decision, run_url=self.event.run_url))
        if self.thread is None:
            self._notice("nothing was posted: no pull request is known, there is no token, or comment is off")
        self._output({"comment-url": self._comment(decision, self.place.shown(path))})
        return ExitCode.PASSED

    def require_places(self) -> None:
        """Refuse, before anything is spent, places that the reports could not be written to."""
        for name, path in self._paths().items():
            given = "report-file" if name == "report-file" else "results-dir"
            require_place(path, self.place.root, f"name another {given}, or remove what is in the way")

    def _paths(self) -> dict[str, Path]:
        paths = {name: self.place.directory / file for name, file in REPORTS.items()}
        return paths | ({"report-file": self.place.json} if self.place.json else {})

    def _write_files(self, result: GateResult) -> dict[str, Path]:
        """The reports that could be written; one that could not is said, and hides no decision."""
        decision = result.decision
        texts = {
            "report-md": render_decision(decision, run_url=self.event.run_url),
            "report-html": render_html(decision, list(result.artifacts.values())),
            "junit": render_junit(decision),
            "report-file": decision.model_dump_json(indent=1),
        }
        files = {}
        for name, path in self._paths().items():
            try:
                files[name] = write_inside(path, texts[name], self.place.root)
            except UsageError as error:
                self.commands.annotation("error", str(error), title="TokenJam Bench")
        return files

    def _summarize(self, report: str) -> None:
        _summarize(report, self.environ)

    def _annotate(self, decision: Decision) -> None:
        level: dict[Status, Level] = {
            Status.REGRESSION: "error",
            Status.INCOMPLETE: "error",
            Status.INCONCLUSIVE: "warning",
        }
        if decision.exit_code is ExitCode.PASSED and decision.status in {Status.REGRESSION, Status.INCOMPLETE}:
            level[decision.status] = "warning"
        if kind := level.get(decision.status):
            for reason in decision.reasons:
                self.commands.annotation(kind, reason, title="TokenJam Bench")
        if warning := self.environ.get("TJBENCH_UPGRADE_WARNING"):
            self.commands.annotation("warning", warning, title="TokenJam Bench")

    def _comment(self, decision: Decision, report: str) -> str:
        if self.thread is None:
            return ""
        marker = Marker(
            gate=self.comment_id,
            sha=self.event.head_sha,
            run=self.event.run_id,
            attempt=self.event.run_attempt,
        )
        text = render_decision(decision, limit=COMMENT_CHARACTERS, run_url=self.event.run_url)
        posted = upsert_comment(self.thread, marker, text, run_url=self.event.run_url)
        if isinstance(posted, Posted):
            self.commands.print(f"comment {posted.outcome}: {posted.url}")
            return posted.url
        need = f" The job needs `permissions: {posted.permission}`." if posted.permission else ""
        self._notice(f"the comment could not be written: {posted.reason}.{need} It is kept in {report}.")
        return ""

    def _notice(self, message: str) -> None:
        self.commands.annotation("notice", message, title="TokenJam Bench")

    def _output(self, outputs: Mapping[str, str]) -> None:
        if target := self.environ.get("GITHUB_OUTPUT"):
            write_outputs(Path(target), outputs)


def refuse(error: TjbError, environ: Mapping[str, str], commands: Commands, log: TextIO) -> None:
    """Say where people look that the run cannot go on: annotation and summary, or the terminal."""
    if environ.get("GITHUB_ACTIONS") == "true":
        commands.annotation("error", str(error), title="TokenJam Bench")
    else:
        print(f"tjb: {error}", file=log)
    decision = Decision(status=Status.INCOMPLETE, exit_code=error.exit_code, reasons=(str(error),))
    _summarize(render_decision(decision), environ)


def _summarize(report: str, environ: Mapping[str, str]) -> None:
    if target := environ.get("GITHUB_STEP_SUMMARY"):
        write_summary(Path(target), report)


def _facts(decision: Decision) -> dict[str, str]:
    rows = []
    for row in decision.rows:
        data = row.model_dump(mode="json")
        versus = {key: data["vs_baseline"][key] for key in VERSUS_KEYS}
        rows.append({**{key: data[key] for key in VERDICT_KEYS}, "vs_baseline": versus})
    regressions = sum(row.vs_baseline.status is RowStatus.REGRESSION for row in decision.rows)
    return {
        "status": str(decision.status),
        "verdicts": json.dumps(rows, separators=(",", ":")),
        "regressions": str(regressions),
        "tokenjam-version": decision.tokenjam_version or "",
        "baseline-ref": decision.baseline.ref or "",
        "cost-usd": f"{decision.cost_usd:.6f}",
    }


def read_report(path: Path) -> Decision:
    """A stored decision; raises ``UsageError`` when the file is none."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError(f"{path} is not a report", why="it is no regular file")
        if path.stat().st_size > REPORT_BYTES:
            raise UsageError(f"{path} is not a report", why=f"more than {REPORT_BYTES >> 20} MiB")
        return Decision.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(f"{path} is not a report", why=f"{where}: {first['msg']}") from error


def require_place(path: Path, root: Path, fix: str) -> None:
    """Refuse, before anything is spent, a place that a report could not be written to; ``fix`` names its input."""
    if linked(path, root):
        raise UsageError(f"cannot write {path}", why="a symbolic link stands in the way", fix=fix)
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write {path}", why="it is no regular file", fix=fix)
    if why := unwritable(path):
        raise UsageError(f"cannot write {path}", why=why, fix=fix)


def linked(path: Path, root: Path) -> bool:
    """Whether ``path`` passes a symbolic link below ``root``."""
    return any(place.is_symlink() for place in (path, *path.parents) if place != root and place.is_relative_to(root))


def write_inside(path: Path, text: str, root: Path) -> Path:
    """Write a report, through no symbolic link below ``root``."""
    if linked(path, root):
        raise UsageError(f"cannot write {path}", why="a symbolic link stands in the way", fix="remove the link")
    try:
        write_whole(path, text)
    except OSError as error:
        raise unwritten(path, error) from error
    return path


def give_to_owner(paths: list[Path], root: Path) -> None:
    """Give what root wrote to the workspace's owner: files of root's break the next checkout on a runner that stays."""
    if os.geteuid() != 0:
        return
    owner = root.stat()
    for place in {place for path in paths for place in (path, *path.parents)}:
        if place != root and place.is_relative_to(root):
            os.chown(place, owner.st_uid, owner.st_gid, follow_symlinks=False)
