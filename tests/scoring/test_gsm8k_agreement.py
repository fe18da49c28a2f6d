"""docs/gsm8k-agreement.md says what its script prints."""

from __future__ import annotations

from tests.benchmarks.gsm8k_agreement import labelled, page, passes
from tests.fakes.shared import ROOT, shared


def test_the_page_is_what_the_script_prints_and_the_labels_agree() -> None:
    answers = labelled(shared("gsm8k/test.jsonl"), shared("gsm8k/model_solutions_6b.jsonl"))
    assert len(answers) == 1320
    assert sum(passes(answer) is answer.right for answer in answers) >= 0.995 * 1320
    assert (ROOT / "docs" / "gsm8k-agreement.md").read_text(encoding="utf-8") == page(answers)
