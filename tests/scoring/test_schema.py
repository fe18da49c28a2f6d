"""Answers held against JSON schemas, and schemas that would never end."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tjbench.scoring.json_answer import score_json
from tjbench.scoring.schema import SCHEMA_SECONDS, score_schema
from tjbench.scoring.score import Cause
from tjbench.suites.schema import json_text, usable_schema
from tjbench.suites.task import JsonCheck

PERSON: dict[str, Any] = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "uniqueItems": True},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
}
ANSWERS: list[Any] = [
    {"name": "Ada", "age": 36},
    {"name": "Ada", "age": 36.0},
    {"name": "Ada", "age": 36.5},
    {"name": "Ada", "age": True},
    {"name": "Ada", "age": "36"},
    {"name": "", "age": 36},
    {"name": "Ada"},
    {"name": "Ada", "age": 36, "more": 1},
    {"name": "Ada", "age": 36, "x-note": "fine"},
    {"name": "Ada", "age": 36, "x-note": 1},
    {"name": "Ada", "age": 36, "tags": ["a", "b"]},
    {"name": "Ada", "age": 36, "tags": ["a", "a"]},
    {"name": "Ada", "age": 36, "tags": ["A"]},
    {"name": "Ada", "age": 36, "tags": [1]},
    [],
    "Ada",
]
UNIQUE = [
    [1, 1.0],
    [1, True],
    [0, False],
    ["1", 1],
    [[1], [True]],
    [{"a": 1}, {"a": 1.0}],
    [{"a": 1}, {"b": 1}],
    [[], {}],
]
OTHER: list[tuple[dict[str, Any], Any]] = [
    *(({"uniqueItems": True}, items) for items in UNIQUE),
    *(({"additionalProperties": {"type": "integer"}}, value) for value in ({"a": 1}, {"a": "x"}, [1])),
    *(({"additionalProperties": True}, value) for value in ({"a": 1}, 3)),
    ({"multipleOf": 0.1}, 0.3),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {"const": 1}},
            "$ref": "#/definitions/a",
        },
        1,
    ),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {"const": 1}},
            "$ref": "#/definitions/a",
        },
        2,
    ),
    ({"properties": {"a": True}, "unevaluatedProperties": False}, {"a": 1, "b": 2}),
    ({"pattern": "b"}, "abc"),
    ({"pattern": "^b"}, "abc"),
    ({"pattern": "^b"}, 3),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=json.dumps)
def test_our_verdict_is_the_librarys_own(answer: Any) -> None:
    expected = Draft202012Validator(PERSON).is_valid(answer)
    assert score_schema(answer, json_text(usable_schema(PERSON))).passed is expected


@pytest.mark.parametrize(("schema", "answer"), OTHER, ids=json.dumps)
def test_bounded_keywords_mean_what_they_mean_elsewhere(schema: dict[str, Any], answer: Any) -> None:
    from jsonschema.validators import validator_for

    expected = validator_for(schema, default=Draft202012Validator)(schema).is_valid(answer)
    assert score_schema(answer, json_text(usable_schema(schema))).passed is expected


def test_an_answer_in_prose_is_held_against_the_schema_and_told_where_it_differs() -> None:
    check = JsonCheck(mode="schema", expected=json_text(PERSON))
    assert score_json('Sure: {"name": "Ada", "age": 36} [1]', check).passed is True
    score = score_json('{"name": "Ada", "age": "old"}', check)
    assert (score.passed, score.cause) == (False, Cause.WRONG_ANSWER)
    assert score.detail == "age does not fit type: 'old' is not of type 'integer'"
    assert score_json("none", check).cause is Cause.NO_ANSWER


def test_a_schema_may_ask_for_something_other_than_an_object() -> None:
    check = JsonCheck(mode="schema", expected=json_text({"type": "string", "minLength": 2}))
    assert score_json('"yes"', check).passed is True
    assert score_json('```json\n"no"\n```', check).passed is True
    assert score_json('"n"', check).passed is False


def doubling(levels: int) -> dict[str, Any]:
    """Refers twice to the next level, which does so too: 2 ** levels references."""
    parts = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**parts, f"l{levels}": {}}, "$ref": "#/$defs/l0"}


RUNAWAY: dict[str, tuple[dict[str, Any], Any]] = {
    "pattern": ({"pattern": r"^(a|aa)+\d$"}, "a" * 60 + "!"),
    "patternProperties": ({"patternProperties": {r"^(a|aa)+\d$": {}}}, {"a" * 60 + "!": 1}),
    "additionalProperties": (
        {"patternProperties": {r"^(a|aa)+\d$": {}}, "additionalProperties": False},
        {"a" * 60 + "!": 1},
    ),
    "many patterns": ({"items": {"not": {"pattern": r"^(a|aa)+\d$"}}}, ["a" * 20 + "!"] * 100_000),
    "references": (doubling(60), 1),
}


@pytest.mark.parametrize("kind", RUNAWAY)
def test_what_would_never_end_is_stopped_and_unscored(kind: str) -> None:
    schema, answer = RUNAWAY[kind]
    start = time.monotonic()
    score = score_schema(answer, json_text(usable_schema(schema)))
    assert (score.passed, score.cause) == (None, Cause.HARNESS)
    assert time.monotonic() - start < 15 * SCHEMA_SECONDS


def test_the_search_for_equal_items_is_not_quadratic() -> None:
    mixed = [part for n in range(100_000) for part in (n, str(n))]
    start = time.process_time()
    assert score_schema(mixed, json_text({"uniqueItems": True})).passed is True
    assert time.process_time() - start < 5


def test_a_reference_without_end_is_unscored() -> None:
    loop = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert score_schema(1, json_text(usable_schema(loop))).cause is Cause.HARNESS


def test_a_number_beyond_arithmetic_is_a_wrong_answer() -> None:
    check = JsonCheck(mode="schema", expected='{"items":{"multipleOf":0.5}}')
    assert score_json("[" + "9" * 400 + "]", check).passed is False
    assert score_json("[1e400]", check).passed is False


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import urllib.request

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(ValueError, match="nothing is fetched"):
        usable_schema({"$ref": "http://127.0.0.1:9/schema.json"})
    with pytest.raises(Exception, match=r"schema\.json") as caught:  # past the check at the door, still nobody is asked
        score_schema({}, '{"$ref":"http://127.0.0.1:9/schema.json"}')
    assert "AssertionError" not in repr(caught.value)
