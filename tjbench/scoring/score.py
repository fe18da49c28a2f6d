"""What an attempt is worth: passed, failed, or unscored with the cause."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DETAIL_CHARS = 200
"""What is kept of a detail."""


class Cause(StrEnum):
    """Why an attempt did not pass. ``EXCEPTION``'s detail begins with the class; ``NAME_ERROR`` is of a name that the
    prompt itself defines; ``HARNESS`` is a fault of the tests or of the box,
    ``JUDGE_ERROR`` one of the judge model."""

    WRONG_ANSWER = "wrong_answer"
    ASSERTION = "assertion"
    EXCEPTION = "exception"
    NAME_ERROR = "name_error"
    SYNTAX_ERROR = "syntax_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    NO_CODE = "no_code"
    NO_ANSWER = "no_answer"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    PROVIDER_ERROR = "provider_error"
    HARNESS = "harness"
    BUDGET = "budget"
    DEADLINE = "deadline"
    JUDGE_ERROR = "judge_error"

    @property
    def unscored(self) -> bool:
        """Whether the cause says nothing about the model's ability, so that the attempt leaves the statistics."""
        return self in _UNSCORED


_UNSCORED = frozenset(
    {
        Cause.TRUNCATED,
        Cause.FILTERED,
        Cause.PROVIDER_ERROR,
        Cause.HARNESS,
        Cause.BUDGET,
        Cause.DEADLINE,
        Cause.JUDGE_ERROR,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """``passed`` is ``None`` when the attempt is unscored; ``cause`` is ``None`` exactly when it passed."""

    passed: bool | None
    cause: Cause | None = None
    detail: str = ""


PASSED = Score(passed=True)


def failed(cause: Cause, detail: str) -> Score:
    """A non-pass: failed or unscored, as the cause says."""
    return Score(passed=None if cause.unscored else False, cause=cause, detail=detail)


def one_line(text: str) -> str:
    """One short line without control characters or lone surrogates, which neither JSON nor a terminal should get."""
    line = " ".join(text[: 10 * DETAIL_CHARS].split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)[:DETAIL_CHARS]
