"""This project's own selftest workflow, as GitHub would run it on a pull request."""

from __future__ import annotations

from tests.e2e.shop import ROOT, Founder

WORKFLOW = ".github/workflows/selftest.yml"


def test_the_selftest_workflow_is_green(found_shop: Founder) -> None:
    project = found_shop("./")
    job = project.pull_request(1, {WORKFLOW: (ROOT / WORKFLOW).read_text(encoding="utf-8")}, workflow="selftest.yml")
    assert job.green
    assert "✅  Success - Main The outputs are there" in job.log
    (comment,) = project.comments(1)
    assert "mock" in comment.lower()
