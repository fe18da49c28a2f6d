"""From an attempt to its score: the one place that chooses the check's interpreter."""

from __future__ import annotations

import re
from typing import assert_never

from tjbench.models.model import Finish, Trouble
from tjbench.runner.attempt import Attempt
from tjbench.sandbox import Box
from tjbench.scoring.blame import blamed
from tjbench.scoring.code import score_code
from tjbench.scoring.json_answer import complete_json, score_json
from tjbench.scoring.judge import Judge
from tjbench.scoring.match import score_number, score_text
from tjbench.scoring.overlap import score_overlap
from tjbench.scoring.score import Cause, Score, failed
from tjbench.suites.task import Check, JsonCheck, JudgedCheck, NumberCheck, OverlapCheck, Task, TextCheck, UnitTests

SCORER_VERSION = "1"
"""Changes whenever the same answer could be scored differently; outcomes of different versions are not compared."""


def score_attempt(task: Task, attempt: Attempt, box: Box | None, judge: Judge | None = None) -> Score:
    """Score an attempt. ``box`` is needed for unit tests only, ``judge`` for judged tasks only."""
    if attempt.trouble is not None:
        return failed(_cause_of(attempt.trouble), attempt.error)
    text = attempt.text or ""
    if attempt.finish is Finish.FILTERED:
        return failed(Cause.FILTERED, "the provider's filter stopped the answer")
    cut = attempt.finish is Finish.LENGTH
    if not text.strip():
        return failed(Cause.TRUNCATED if cut else Cause.NO_ANSWER, "the answer is empty")
    if cut and isinstance(task.check, JudgedCheck):
        return failed(Cause.TRUNCATED, "the answer was cut off at max_tokens, so the judge was not asked")
    score = blamed(_checked(text, task, box, judge), task)
    if cut and score.passed is False and not _answered(text, task.check):
        return failed(Cause.TRUNCATED, "the answer was cut off at max_tokens before it was complete")
    return score


def _checked(text: str, task: Task, box: Box | None, judge: Judge | None) -> Score:
    match check := task.check:
        case NumberCheck():
            return score_number(text, check)
        case TextCheck():
            return score_text(text, check)
        case JsonCheck():
            return score_json(text, check)
        case UnitTests():
            if box is None:
                raise ValueError("unit tests need a box to run in")
            return score_code(text, check, box, reference=task.canned.right if task.canned else None)
        case JudgedCheck():
            if judge is None:
                raise ValueError("judged tasks need a judge")
            return judge.score(text, task)
        case OverlapCheck():
            return score_overlap(text, check)
        case _:
            assert_never(check)


def _answered(text: str, check: Check) -> bool:
    """Whether a complete answer precedes the cut, so that a wrong one is wrong and not truncated."""
    match check:
        case NumberCheck():
            return re.search(r"####\s*\S+\s|\\boxed\{[^{}]*\}", text) is not None
        case TextCheck() | JudgedCheck() | OverlapCheck():
            return False
        case JsonCheck():
            return complete_json(text)
        case UnitTests(entry_point=name):
            closed = re.findall(r"^(```|~~~)[^\n]*\n(.*?)^\1\s*$", text, re.DOTALL | re.MULTILINE)
            return any(re.search(rf"\bdef\s+{re.escape(name)}\b", block) for _, block in closed)
        case _:
            assert_never(check)


_CAUSES = {
    Trouble.FILTERED: Cause.FILTERED,
    Trouble.BUDGET: Cause.BUDGET,
    Trouble.DEADLINE: Cause.DEADLINE,
}


def _cause_of(trouble: Trouble) -> Cause:
    return _CAUSES.get(trouble, Cause.PROVIDER_ERROR)
