"""The JSON of an answer, found in prose or fences, held against what a task expects."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tjbench.scoring.fences import blocks
from tjbench.scoring.score import PASSED, Cause, Score, failed
from tjbench.suites.task import JsonCheck

MAX_TEXT = 1_000_000
"""A longer answer is unscored."""
_OPENING = re.compile(r"[{\[]")
_MOST_FAILURES = 5000  # an error costs a count of the lines before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A value, and what makes it no JSON that two readers would read alike: a key that is there twice, or NaN."""

    value: object
    problem: str = ""


def score_json(text: str, check: JsonCheck) -> Score:
    """Whether the JSON in ``text`` holds the expected value, or conforms to the schema."""
    if len(text) > MAX_TEXT:
        return failed(Cause.HARNESS, f"the answer is longer than {MAX_TEXT} characters")
    expected = json.loads(check.expected, parse_float=Decimal)
    found = find_json(text, _wanted(check.mode, expected))
    if found is None:
        return failed(Cause.NO_ANSWER, "no JSON found")
    if found.problem:
        return failed(Cause.WRONG_ANSWER, f"the JSON is ambiguous: {found.problem}")
    if check.mode == "schema":
        from tjbench.scoring.schema import score_schema

        return score_schema(found.value, check.expected)
    lacking = lacks(found.value, expected)
    return failed(Cause.WRONG_ANSWER, lacking) if lacking else PASSED


def find_json(text: str, wanted: type | None = None) -> Found | None:
    """The JSON that ``text`` answers with: the whole text; else the last object or list inside its fences; else the
    last one in it. Of several, one of type ``wanted`` (dict or list) goes first. A value that is cut off, or that lies
    in one that cannot be read, is none."""
    text = text.rpartition("</think>")[2].strip()
    fenced = blocks(text.replace("\r\n", "\n"))
    whole = next((found for part in (text, *reversed(fenced)) if (found := _decoded(part.strip()))), None)
    if whole is not None and (wanted is None or isinstance(whole.value, wanted)):
        return whole
    inside = [found for part in fenced for found in values_in(part)]
    anywhere = values_in(text)
    for values in (inside, anywhere):
        fitting = [found for found in values if wanted is None or isinstance(found.value, wanted)]
        if fitting:
            return fitting[-1]
    return next((values[-1] for values in (inside, anywhere) if values), whole)


def values_in(text: str) -> list[Found]:
    """Every object and list in ``text`` that lies in no other, in order."""
    return _values(text)[0]


def complete_json(text: str) -> bool:
    """Whether ``text``, which was cut off, holds an object or a list and does not end within one."""
    values, within = _values(text.rpartition("</think>")[2])
    return bool(values) and not within


def lacks(value: object, expected: object, at: str = "") -> str:
    """What of ``expected`` is missing in ``value``, in words; empty when nothing is.

    Objects may hold more keys. Lists are as long and in the same order. Numbers are equal by value, and a number is
    never a string or a truth value.
    """
    where = at or "the JSON"
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return f"{where} is not an object"
        for key, part in expected.items():
            inside = f"{at}.{key}" if at else key
            if key not in value:
                return f"{inside} is missing"
            if lacking := lacks(value[key], part, inside):
                return lacking
        return ""
    if isinstance(expected, list):
        if not isinstance(value, list) or len(value) != len(expected):
            return f"{where} is not a list of {len(expected)}"
        pairs = enumerate(zip(value, expected, strict=True))
        return next((found for index, (one, other) in pairs if (found := lacks(one, other, f"{at}[{index}]"))), "")
    same = isinstance(value, bool) is isinstance(expected, bool) and value == expected
    return "" if same else f"{where}: expected {_shown(expected)}, got {_shown(value)}"


def _wanted(mode: str, expected: object) -> type | None:
    if mode == "subset":
        return type(expected)
    kind = expected.get("type") if isinstance(expected, dict) else None
    return {"object": dict, "array": list}.get(kind) if isinstance(kind, str) else None


def _decoded(text: str) -> Found | None:
    """``text`` if all of it is one JSON value."""
    reader = _Reader()
    try:
        value, end = reader.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return Found(value=value, problem=reader.problem) if end == len(text) else None


def _values(text: str) -> tuple[list[Found], bool]:
    """Objects and lists in ``text``, outermost ones only, and whether it ends within one."""
    values: list[Found] = []
    reader, at, failures = _Reader(), 0, 0
    while failures < _MOST_FAILURES and (opening := _OPENING.search(text, at)):
        reader.problem = ""
        try:
            value, at = reader.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            if error.pos >= len(text) or error.msg.startswith("Unterminated"):
                return values, True
            at = max(opening.end(), error.pos)
            failures += 1
        except (ValueError, RecursionError):  # digits without end, or nested without end
            return values, True
        else:
            values.append(Found(value=value, problem=reader.problem))
    return values, False


class _Reader(json.JSONDecoder):
    """Reads one value and remembers what JSON allows or Python tolerates, but no two readers agree on."""

    def __init__(self) -> None:
        super().__init__(parse_float=_number, parse_constant=self._constant, object_pairs_hook=self._object)
        self.problem = ""

    def _constant(self, name: str) -> None:
        self.problem = f"{name} is no JSON value"

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            self.problem = f"the key {twice[:40]!r} is there twice"
        return value


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("the exponent has too many digits") from None


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
