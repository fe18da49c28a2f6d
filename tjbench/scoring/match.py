"""Answers compared with what a task expects: numbers, texts, patterns and choices."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

import regex

from tjbench.scoring.number import Percent, parse_number
from tjbench.scoring.score import PASSED, Cause, Score, failed
from tjbench.suites.task import NumberCheck, TextCheck

__all__ = ["Percent", "parse_number", "score_number", "score_text"]

REGEX_SECONDS = 1.0
"""A user's pattern that searches longer than this leaves the attempt unscored."""
_MAX_TEXT = 1_000_000
_DECORATION = " \t\r\n*_`\"'.:()[]{}$"


def score_number(text: str, check: NumberCheck) -> Score:
    """Whether the final number of ``text`` equals the expected one exactly."""
    expected = parse_number(check.expected, percent=check.percent)
    if expected is None:
        raise ValueError(f"{check.expected!r} is not a number")
    number = parse_number(text, percent=check.percent)
    if number is None:
        return failed(Cause.NO_ANSWER, f"no number found; expected {_shown(expected)}")
    if number == expected:
        return PASSED
    return failed(Cause.WRONG_ANSWER, f"expected {_shown(expected)}, got {_shown(number)}")


def score_text(text: str, check: TextCheck) -> Score:
    """Whether ``text`` equals, contains, matches or chooses what the check expects.

    Surrounding white space never counts. A pattern that takes too long is unscored (harness), never a failure.
    """
    text = text.strip()
    if not text:
        return failed(Cause.NO_ANSWER, "the answer is empty")
    if check.kind == "regex":
        return _score_regex(text, check)
    if check.kind == "choice":
        return _score_choice(text, check)
    answer, expected = (_folded(part, check.case_sensitive) for part in (text, check.expected))
    if expected == answer or (check.kind == "contains" and expected in answer):
        return PASSED
    verb = "contain" if check.kind == "contains" else "equal"
    return failed(Cause.WRONG_ANSWER, f"the answer does not {verb} {_cut(check.expected)!r}")


def _score_regex(text: str, check: TextCheck) -> Score:
    if len(text) > _MAX_TEXT:
        return failed(Cause.HARNESS, f"the answer is longer than {_MAX_TEXT} characters")
    flags = regex.VERSION0 | (0 if check.case_sensitive else regex.IGNORECASE)
    try:
        found = regex.compile(check.expected, flags).search(text, timeout=REGEX_SECONDS)
    except TimeoutError:
        return failed(Cause.HARNESS, f"the pattern {_cut(check.expected)!r} took more than {REGEX_SECONDS:g} s")
    except (RecursionError, MemoryError):
        return failed(Cause.HARNESS, f"the pattern {_cut(check.expected)!r} needs too much memory")
    return PASSED if found else failed(Cause.WRONG_ANSWER, f"nothing matches {_cut(check.expected)!r}")


def _score_choice(text: str, check: TextCheck) -> Score:
    chosen = parse_choice(text, check.labels)
    if chosen is None:
        return failed(Cause.NO_ANSWER, f"no single choice of {', '.join(check.labels)} found")
    if chosen == check.expected:
        return PASSED
    return failed(Cause.WRONG_ANSWER, f"expected {check.expected}, chose {chosen}")


def parse_choice(text: str, labels: tuple[str, ...]) -> str | None:
    """The label that ``text`` settles on, or None when it names none or several.

    Looked for in this order: the whole answer, after the last ``####``, in the last ``\\boxed{}``, after the last
    "answer is" (or choice, option), the only label that begins a line, the only label that stands alone.
    """
    text = text[-_MAX_TEXT:]
    by_fold = {label.casefold(): label for label in labels}
    whole = by_fold.get(text.strip(_DECORATION).casefold())
    if whole:
        return whole
    any_label = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    stated = (
        rf"(?<!#)####[^\w\n]{{0,10}}({any_label})\b",
        rf"\\boxed\{{[^\w\n]{{0,10}}(?:\\text(?:bf)?\{{)?[^\w\n]{{0,3}}({any_label})\b",
        rf"\b(?:answer|choice|option)(?: is)?[^\w\n]{{1,10}}(?:option )?({any_label})\b(?!(?-i:(?<=a) [a-z]))",
    )
    for pattern in stated:
        found = re.findall(pattern, text, re.IGNORECASE)
        if found:
            return by_fold[found[-1].casefold()]
    begins_line = rf"(?m)^[ \t>*_(-]{{0,8}}({any_label})(?:[).:*]|$)"
    stands_alone = rf"(?<![\w'])({any_label})(?![\w'])(?!(?<=[AI]) (?!(?:or|and|is|because|since|as)\b)[a-z])"
    for pattern in (begins_line, stands_alone):
        named = set(re.findall(pattern, text))
        if named:
            return named.pop() if len(named) == 1 else None
    return None


def _folded(text: str, case_sensitive: bool) -> str:
    text = unicodedata.normalize("NFC", text.strip().replace("\r\n", "\n"))
    return text if case_sensitive else text.casefold()


def _shown(number: Decimal) -> str:
    return _cut(format(number.normalize(), "f") if abs(number.adjusted()) < 30 else str(number))


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
