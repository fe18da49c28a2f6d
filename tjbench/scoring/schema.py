"""An answer's JSON held against a JSON schema, in bounded time and without asking anybody."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import regex
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry

from tjbench.scoring.score import PASSED, Cause, Score, failed

SCHEMA_SECONDS = 2.0
"""A check that takes longer leaves the attempt unscored."""

Errors = Iterator[ValidationError]
Keyword = Callable[[Validator, Any, Any, Mapping[str, Any]], Errors]


def score_schema(value: object, schema_text: str) -> Score:
    """Whether ``value`` conforms to the schema. One that takes too long or goes too deep is unscored (harness)."""
    schema = json.loads(schema_text)
    checked = _plain(value)
    deadline = _Deadline(SCHEMA_SECONDS)
    cls = _bounded(validator_for(schema, default=Draft202012Validator), deadline)
    try:
        error = next(iter(cls(schema, registry=Registry()).iter_errors(checked)), None)
    except TimeoutError:
        return failed(Cause.HARNESS, f"the schema took more than {SCHEMA_SECONDS:g} s to check")
    except OverflowError:
        return failed(Cause.WRONG_ANSWER, "a number of the JSON is too large for the schema's arithmetic")
    except RecursionError:
        return failed(Cause.HARNESS, "the schema or the answer goes too deep to check")
    if error is None:
        return PASSED
    where = ".".join(str(part) for part in error.absolute_path) or "the JSON"
    return failed(Cause.WRONG_ANSWER, f"{where[:60]} does not fit {error.validator}: {error.message:.100}")


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def found(self, pattern: str, text: str) -> bool:
        return _compiled(pattern).search(text, timeout=self.left()) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION0)


def _bounded(cls: Any, deadline: _Deadline) -> Any:
    """``cls`` with a limit on what could take for ever: patterns, references, and the search for equal items."""

    def pattern(validator: Validator, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
        if isinstance(value, str) and not deadline.found(wanted, value):
            yield ValidationError(f"nothing matches {wanted!r}")

    def pattern_properties(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
        if isinstance(value, dict):
            for one, held in wanted.items():
                for key, item in value.items():
                    if deadline.found(one, key):
                        yield from validator.descend(item, held, path=key, schema_path=one)

    def additional_properties(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
        if not isinstance(value, dict):
            return
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for key, item in value.items():
            if key in known or any(deadline.found(one, key) for one in patterns):
                continue
            if wanted is False:
                yield ValidationError(f"{key!r:.60} is not allowed")
            else:
                yield from validator.descend(item, wanted, path=key)

    def unique_items(validator: Validator, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
        if wanted and isinstance(value, list) and len({_identity(item) for item in value}) < len(value):
            yield ValidationError("an item is there twice")

    bounded: dict[str, Keyword] = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": unique_items,
    }
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        if name in cls.VALIDATORS:
            bounded[name] = _timed(cls.VALIDATORS[name], deadline)
    own = {name: keyword for name, keyword in bounded.items() if name in cls.VALIDATORS}
    return extend(cls, own)  # type: ignore[no-untyped-call]


def _timed(keyword: Keyword, deadline: _Deadline) -> Keyword:
    def timed(validator: Validator, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
        deadline.left()
        yield from keyword(validator, wanted, value, schema) or ()

    return timed


def _identity(value: object) -> object:
    """Equal for what JSON calls equal: 1 is 1.0 and not true."""
    match value:
        case bool():
            return ("truth", value)
        case dict():
            return ("object", frozenset((key, _identity(item)) for key, item in value.items()))
        case list():
            return ("list", *map(_identity, value))
        case _:
            return value


def _plain(value: object) -> object:
    """``value`` with floats for Decimals, which jsonschema's arithmetic needs."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
