"""Report files, summary, annotations and outputs; comments are held in tests/test_action.py and tests/github."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from tests.fakes.artifacts import measurement
from tests.fakes.shop import read_outputs
from tjbench.ci import GateResult
from tjbench.compare.decision import BaselineLabel, Decision, Status
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.errors import ExitCode, UsageError
from tjbench.github.actions import Commands
from tjbench.github.event import Event
from tjbench.publish import Publisher, ReportPlace, give_to_owner, read_report, refuse, write_inside

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def decided(candidate: str = "f" * 10 + "p" * 30, policy: GatePolicy | None = None) -> Decision:
    matrix = build_matrix([measurement("p" * 40, candidate)], [measurement("p" * 40, "p" * 40)], Rule())
    return decide(matrix, policy or GatePolicy(), baseline=BaselineLabel(ref="release/1.0"))


class Place:
    """A workspace and the runner's files."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "workspace"
        self.root.mkdir()
        self.environ = {
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_ACTIONS": "true",
        }
        self.log = io.StringIO()
        self.commands = Commands(self.log)

    def publisher(self, report: str | None = None) -> Publisher:
        place = ReportPlace(
            root=self.root, directory=self.root / "results", json=self.root / report if report else None
        )
        return Publisher(
            event=Event(name="push"),
            environ=self.environ,
            commands=self.commands,
            place=place,
            thread=None,
            comment_id="ci/gate",
        )

    def publish(self, decision: Decision, report: str | None = None) -> dict[str, str]:
        self.publisher(report).publish(GateResult(decision=decision, artifacts={}))
        return read_outputs(Path(self.environ["GITHUB_OUTPUT"]).read_text())

    def commands_of(self, kind: str) -> list[str]:
        return [line for line in self.log.getvalue().splitlines() if line.startswith(f"::{kind} ")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_verdict_row_holds_the_promised_names_and_no_more(place: Place) -> None:
    outputs = place.publish(decided())
    (row,) = json.loads(outputs["verdicts"])
    assert list(row) == [
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
        "vs_baseline",
    ]
    assert list(row["vs_baseline"]) == ["b", "c", "p_value", "adjusted_significant", "status"]
    assert (row["accuracy_delta_pp"], row["verdict"]) == (-25, "significant_regression")
    assert row["vs_baseline"] == {
        "b": 10,
        "c": 0,
        "p_value": 2**-10,
        "adjusted_significant": True,
        "status": "regression",
    }
    assert "\n" not in outputs["verdicts"]


def test_paths_are_relative_to_the_workspace_for_later_steps(place: Place) -> None:
    outputs = place.publish(decided(), report="out/report.json")
    assert (outputs["report-md"], outputs["results-dir"]) == ("results/tjbench-report.md", "results")
    assert "report-file" not in outputs
    assert read_report(place.root / "out/report.json") == decided()


@pytest.mark.parametrize(
    ("decision", "kind"),
    [
        (decided(), "error"),
        (decided(policy=GatePolicy(fail_on=())), "warning"),
        (decided("u" * 20 + "p" * 20), "error"),
        (decided("f" * 3 + "p" * 37), "warning"),
        (decided("p" * 40), None),
    ],
    ids=["regression", "regression that nothing fails on", "incomplete", "inconclusive", "pass"],
)
def test_annotations_are_as_loud_as_the_exit_code(place: Place, decision: Decision, kind: str | None) -> None:
    place.publish(decision)
    found = {level for level in ("error", "warning", "notice") if place.commands_of(level)}
    assert found == ({kind} if kind else set())


def test_the_report_in_the_log_runs_no_command(place: Place) -> None:
    hostile = decided().model_copy(update={"reasons": ("::set-output name=status::pass", "x")})
    place.publish(hostile)
    lines = place.log.getvalue().splitlines()
    stopped, ran = None, []
    for line in lines:
        if line.startswith("::stop-commands::"):
            stopped = f"::{line.removeprefix('::stop-commands::')}::"
        elif line == stopped:
            stopped = None
        elif stopped is None and line.startswith("::"):
            ran.append(line.split("::")[1].split()[0])
    assert set(ran) <= {"group", "endgroup", "error"}
    assert any("set-output" in line for line in lines)


def test_without_the_runners_files_nothing_fails(place: Place) -> None:
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        del place.environ[name]
    place.publisher().publish(GateResult(decision=decided(), artifacts={}))
    assert (place.root / "results/tjbench-report.md").exists()


def test_an_error_is_an_annotation_and_a_summary(place: Place) -> None:
    refuse(
        UsageError("no such suite", why="built-in: samples", fix="name one"), place.environ, place.commands, place.log
    )
    (line,) = place.commands_of("error")
    assert line == "::error title=TokenJam Bench::no such suite%0A  why: built-in: samples%0A  fix: name one"
    assert "no such suite" in Path(place.environ["GITHUB_STEP_SUMMARY"]).read_text()
    assert not Path(place.environ["GITHUB_OUTPUT"]).exists()


# --- files


@pytest.mark.parametrize("link", ["results", "results/tjbench-report.md"], ids=["directory", "file"])
def test_a_report_is_not_written_through_a_link(place: Place, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("untouched")
    (place.root / link).parent.mkdir(exist_ok=True)
    (place.root / link).symlink_to(outside if link == "results" else outside / "victim")
    with pytest.raises(UsageError, match="a symbolic link stands in the way") as refused:
        place.publisher().require_places()
    assert "results-dir" in refused.value.fix
    outputs = place.publish(decided())
    assert any("a symbolic link stands in the way" in line for line in place.commands_of("error"))
    assert (outputs["status"], outputs["report-md"]) == ("regression", "")
    assert [path.name for path in outside.iterdir()] == ["victim"]
    assert (outside / "victim").read_text() == "untouched"


def test_links_above_the_workspace_are_the_machines_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    root = tmp_path / "link"
    write_inside(root / "a" / "report.md", "x", root)
    assert (tmp_path / "real/a/report.md").read_text() == "x"


def test_a_report_that_cannot_be_written_is_said_and_hides_no_decision(place: Place) -> None:
    (place.root / "results/tjbench-report.md").mkdir(parents=True)
    outputs = place.publish(decided(), report="report.json")
    assert any("tjbench-report.md" in line for line in place.commands_of("error"))
    assert (outputs["status"], outputs["regressions"]) == ("regression", "1")
    assert (outputs["report-md"], outputs["junit"]) == ("", "results/tjbench-junit.xml")
    assert "regression" in Path(place.environ["GITHUB_STEP_SUMMARY"]).read_text()
    assert read_report(place.root / "report.json").status is Status.REGRESSION


@pytest.mark.parametrize(
    ("taken", "kind", "given"),
    [
        ("results", "file", "results-dir"),
        ("results/tjbench-report.html", "directory", "results-dir"),
        ("results/tjbench-junit.xml", "pipe", "results-dir"),
        ("out", "file", "report-file"),
        ("out/report.json", "directory", "report-file"),
        ("out/report.json", "link", "report-file"),
    ],
)
def test_a_place_that_takes_no_report_is_refused_beforehand(place: Place, taken: str, kind: str, given: str) -> None:
    path = place.root / taken
    path.parent.mkdir(exist_ok=True)
    if kind == "file":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("absent")
    with pytest.raises(UsageError, match="cannot write") as refused:
        place.publisher("out/report.json").require_places()
    assert given in refused.value.fix


def test_a_workspace_without_reports_is_ready_for_them_and_stays_as_it_is(place: Place) -> None:
    place.publisher("deep/report.json").require_places()
    assert list(place.root.iterdir()) == []


@root_only
def test_what_root_made_goes_to_the_owner_of_the_workspace_and_nothing_else_does(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    deep = root / "a" / "b" / "report.md"
    deep.parent.mkdir(parents=True)
    deep.write_text("x")
    (root / "other").write_text("x")
    outside = tmp_path / "outside"
    outside.write_text("x")
    (root / "a" / "link").symlink_to(outside)
    os.chown(root, 1234, 4321)
    give_to_owner([deep, root / "a" / "link", outside], root)
    given = {
        str(path.relative_to(tmp_path)): (path.lstat().st_uid, path.lstat().st_gid) == (1234, 4321)
        for path in [root, *root.rglob("*"), outside]
    }
    assert given == {
        "workspace": True,
        "workspace/a": True,
        "workspace/a/b": True,
        "workspace/a/b/report.md": True,
        "workspace/a/link": True,
        "workspace/other": False,
        "outside": False,
    }


def test_a_stored_report_reads_back_whole_and_a_missing_one_is_said(tmp_path: Path) -> None:
    decision = decided()
    path = write_inside(tmp_path / "report.json", decision.model_dump_json(indent=1), tmp_path)
    assert read_report(path) == decision
    assert (read_report(path).status, read_report(path).exit_code) == (Status.REGRESSION, ExitCode.REGRESSION)
    with pytest.raises(UsageError, match="cannot read"):
        read_report(tmp_path / "absent.json")
