"""JSON that a suite file holds: written as one text, and schemas that can be held without asking anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

import regex

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def json_text(value: object) -> str:
    """``value`` as JSON with its keys in order; a Decimal keeps its digits."""
    match value:
        case dict():
            items = sorted(cast("dict[str, object]", value).items())
            return "{" + ",".join(f"{json.dumps(key)}:{json_text(item)}" for key, item in items) + "}"
        case list():
            return "[" + ",".join(map(json_text, value)) + "]"
        case Decimal():
            return str(value)
        case _:
            return json.dumps(value)


def usable_schema(value: object) -> object:
    """``value``, if it is a JSON schema whose references stay inside it. Raises ``ValueError`` that says why not.

    A pattern is read by ``regex``, which can be stopped. Nothing stops the search in ``unevaluatedProperties``, so
    that one cannot stand beside ``patternProperties``.
    """
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    schema = json.loads(json_text(value))
    _refuse_what_is_no_schema(schema)
    names = set()
    for name, held in _keywords(schema):
        names.add(name)
        if name == "pattern" and isinstance(held, str):
            _refuse_pattern(held)
        if name == "patternProperties" and isinstance(held, dict):
            for pattern in held:
                _refuse_pattern(pattern)
    if {"patternProperties", "unevaluatedProperties"} <= names:
        raise ValueError("cannot hold both patternProperties and unevaluatedProperties; use additionalProperties")
    return value


def _refuse_what_is_no_schema(schema: dict[str, Any]) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, UnknownDialect, specification_with

    draft = schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")
    try:
        specification_with(str(draft))
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except UnknownDialect:
        raise ValueError(f"$schema {str(draft)[:80]!r} is no draft of JSON Schema; leave it out for 2020-12") from None
    except SchemaError as error:
        where = ".".join(str(part) for part in error.path)
        raise ValueError(f"{where or 'it'} is not a schema: {error.message:.200}") from None
    registry: Registry[Any] = Registry().with_resource(
        "", Resource.from_contents(schema, default_specification=DRAFT202012)
    )
    for name, held in _keywords(schema):
        if name not in _REFERENCES or not isinstance(held, str):
            continue
        if not held.startswith("#"):
            raise ValueError(f"{name} must point into the schema itself, as in #/$defs/name: nothing is fetched")
        try:
            registry.resolver().lookup(held)
        except Unresolvable:
            raise ValueError(f"{name} {held!r:.80} points nowhere in the schema") from None


def _refuse_pattern(text: str) -> None:
    try:
        regex.compile(text, regex.VERSION0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {text!r:.80} is not a regular expression: {error}") from None


def _keywords(value: object) -> Iterator[tuple[str, object]]:
    """Every key of every object in ``value`` with what it holds, names of properties included."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as held:
                yield from held.items()
                waiting.extend(held.values())
            case list() as items:
                waiting.extend(items)
