from __future__ import annotations

from datetime import date
from xml.etree import ElementTree

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.decision import Acceptance, BaselineLabel, Decision, DecisionRow, RowStatus, Status, VsBaseline
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.pair import Rule
from tjbench.errors import ExitCode
from tjbench.report.junit import render_junit


def row(status: RowStatus, suite: str = "samples", reason: str = "why") -> DecisionRow:
    return DecisionRow(
        suite=suite,
        original_model=ORIGINAL,
        candidate_model=CANDIDATE,
        slot="recommended",
        vs_baseline=VsBaseline(status=status, reason=reason, broke=(suite,)),
    )


def decision(*rows: DecisionRow, exit_code: ExitCode = ExitCode.PASSED) -> Decision:
    return Decision(status=Status.PASS, exit_code=exit_code, reasons=("the reason",), rows=rows)


def read(text: str) -> ElementTree.Element:
    suite = ElementTree.fromstring(text.encode()).find("testsuite")
    assert suite is not None
    return suite


@pytest.mark.parametrize(
    ("status", "element"),
    [
        (RowStatus.REGRESSION, "failure"),
        (RowStatus.INCOMPLETE, "error"),
        (RowStatus.NO_BASELINE, "skipped"),
        (RowStatus.NOT_COMPARABLE, "skipped"),
        (RowStatus.NOT_RE_MEASURED, "skipped"),
        (RowStatus.INSUFFICIENT_EVIDENCE, "skipped"),
        (RowStatus.NO_REGRESSION, None),
    ],
)
def test_a_row_is_a_testcase_with_the_outcome_of_its_status(status: RowStatus, element: str | None) -> None:
    case = read(render_junit(decision(row(status)))).find("testcase")
    assert case is not None
    assert case.get("classname") == "samples"
    assert case.get("name") == f"{ORIGINAL} → {CANDIDATE}"
    assert [child.tag for child in case if child.tag != "system-out"] == ([element] if element else [])


def test_the_counts_add_up() -> None:
    rows = [
        row(s) for s in (RowStatus.REGRESSION, RowStatus.INCOMPLETE, RowStatus.NO_BASELINE, RowStatus.NO_REGRESSION)
    ]
    suite = read(render_junit(decision(*rows)))
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }


def test_an_alarm_over_all_rows_is_a_failing_testcase_of_its_own() -> None:
    suites = ["a", "b", "c", "d"]
    heads = [measurement("p" * 60, "fff" + "p" * 57, suite=suite) for suite in suites]
    bases = [measurement("p" * 60, "p" * 60, suite=suite, version="0.6.0") for suite in suites]
    pooled = decide(build_matrix(heads, bases, Rule()), GatePolicy(), baseline=BaselineLabel())
    suite = read(render_junit(pooled))
    failures = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failures] == ["gate"]
    assert "over all rows together" in failures[0][0].attrib["message"]


def test_an_incomplete_run_without_rows_is_an_error() -> None:
    suite = read(render_junit(decision(exit_code=ExitCode.INCOMPLETE)))
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == "the reason."


def test_what_xml_forbids_is_replaced_and_the_rest_escaped() -> None:
    hostile = 'a\x00\x08\x1b\ufffe\ud800<b>&"]]>'
    suite = read(render_junit(decision(row(RowStatus.REGRESSION, hostile, hostile))))
    case = suite[0]
    assert case.get("classname") == 'a\ufffd\ufffd\ufffd\ufffd\ufffd<b>&"]]>'
    failure = case.find("failure")
    assert failure is not None
    assert (failure.text or "").splitlines()[1] == case.get("classname")


def test_a_known_regression_is_skipped_with_its_reason() -> None:
    known = row(RowStatus.REGRESSION).model_copy(
        update={"accepted": Acceptance(until=date(2026, 12, 31), reason="ticket 7")}
    )
    (case,) = read(render_junit(decision(known)))
    skipped = case.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "regression: why: accepted until 2026-12-31: ticket 7"
