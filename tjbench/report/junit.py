"""A decision as JUnit XML, for the test views of CI systems."""

from __future__ import annotations

from xml.etree import ElementTree

from tjbench.compare.decision import Decision, DecisionRow, RowStatus
from tjbench.errors import ExitCode
from tjbench.report.escape import clean
from tjbench.report.page import sentence
from tjbench.report.words import ROW_STATUS, verdict_word

SUITE = "tokenjam-bench"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_ELEMENT = {RowStatus.REGRESSION: "failure", RowStatus.INCOMPLETE: "error", RowStatus.NO_REGRESSION: ""}


def render_junit(decision: Decision) -> str:
    """One testcase a row. A gate that fails for another reason than a row's status is a testcase of its own."""
    root = ElementTree.Element("testsuites", name=SUITE)
    suite = ElementTree.SubElement(root, "testsuite", name=SUITE)
    outcomes = [_row(suite, row) for row in decision.rows]
    if decision.exit_code is not ExitCode.PASSED and not {"failure", "error"} & set(outcomes):
        outcomes.append(_gate(suite, decision))
    counts = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    for element in (root, suite):
        element.attrib |= {name: str(count) for name, count in counts.items()}
    ElementTree.indent(root)
    return f"{DECLARATION}\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _row(suite: ElementTree.Element, row: DecisionRow) -> str:
    versus = row.vs_baseline
    name = clean(f"{row.original_model} → {row.candidate_model or '(no recommendation)'}")
    case = ElementTree.SubElement(suite, "testcase", classname=clean(row.suite), name=name)
    kind = "skipped" if row.accepted else _ELEMENT.get(versus.status, "skipped")
    if kind:
        element = ElementTree.SubElement(case, kind, message=clean(_message(row)))
        if kind == "failure":
            element.text = "\n".join(["Broke against the baseline:", *map(clean, versus.broke)])
    own = f"candidate against original: {verdict_word(row.verdict)}"
    ElementTree.SubElement(case, "system-out").text = clean(": ".join(filter(None, (own, row.verdict_reason))))
    return kind


def _message(row: DecisionRow) -> str:
    word = ROW_STATUS[row.vs_baseline.status][1]
    return ": ".join(filter(None, (word, row.vs_baseline.reason, str(row.accepted or ""))))


def _gate(suite: ElementTree.Element, decision: Decision) -> str:
    kind = "error" if decision.exit_code is ExitCode.INCOMPLETE else "failure"
    case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name="gate")
    message = clean(" ".join(map(sentence, decision.reasons)))
    ElementTree.SubElement(case, kind, message=message).text = "\n".join(map(clean, decision.reasons))
    return kind
