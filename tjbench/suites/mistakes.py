"""A validation error in words: what is wrong, why, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tjbench.suites import checks, record

Part = TypeVar("Part", str, int | str)

_CHECKS: dict[str, type[BaseModel]] = {
    "number": checks.NumberRecord,
    "exact": checks.ExactRecord,
    "contains": checks.ContainsRecord,
    "regex": checks.RegexRecord,
    "choice": checks.ChoiceRecord,
    "json": checks.JsonRecord,
    "unit_tests": checks.UnitTestsRecord,
    "judged": checks.JudgedRecord,
}
_BODIES: dict[str, type[BaseModel]] = {
    "json": checks.JsonBody,
    "unit_tests": checks.UnitTestsBody,
    "judged": checks.JudgedBody,
}
_PLAIN_WORDS = {
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "too_short": "must hold more",
}


def explain(error: ErrorDetails, model: type[BaseModel], prefix: str) -> dict[str, str]:
    """``what``, ``why`` and ``fix`` for an error in a ``model`` that lies at ``prefix`` of the object."""
    location = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        *parents, unknown = location
        inside = f" in {_dotted(parents, prefix)}" if parents or prefix else ""
        hint = _allowed(unknown, _fields(_model_at(model, parents)))
        return {"what": f"unknown field {_quoted(unknown)}{inside}", **hint}
    where = _dotted(location, prefix)
    if error["type"] == "check_kind":
        given = error["input"]
        keys = [str(key) for key in given if key not in checks.CHECK_KINDS] if isinstance(given, dict) else []
        hint = _allowed(keys[0], list(checks.CHECK_KINDS)) if keys else {}
        fix = hint.get("fix") or 'write one kind, for example "check": {"exact": "Paris"}'
        return {"what": f"{where}: {error['msg']}", "fix": fix}
    if error["type"] == "missing":
        return {
            "what": f"the field {where} is missing",
            "why": f"it takes {', '.join(_fields(_model_at(model, location[:-1])))}",
        }
    message = _PLAIN_WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return {"what": f"{where}: {message}" if where else message}


def _allowed(unknown: str, allowed: list[str]) -> dict[str, str]:
    close = difflib.get_close_matches(unknown[:100], allowed, n=1)
    return {"why": f"allowed: {', '.join(allowed)}", "fix": f"did you mean {close[0]!r}?" if close else ""}


def _fields(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_at(model: type[BaseModel], location: list[str]) -> type[BaseModel]:
    """The model that the fields at ``location`` belong to."""
    match location:
        case ["check", kind] if model is record.TaskRecord:
            return _CHECKS[kind]
        case ["check", _, body]:
            return _BODIES[body]
        case ["messages", _]:
            return record.MessageRecord
        case ["canned"]:
            return record.CannedRecord
        case _:
            return model


def path_in_file(location: Sequence[Part]) -> list[Part]:
    """Where an error lies in the file: without the kind that pydantic puts behind ``check``."""
    parts = list(location)
    return parts[:1] + parts[2:] if parts[:1] == ["check"] else parts


def _dotted(location: list[str], prefix: str) -> str:
    parts = path_in_file(location)
    return ".".join(part if part.isprintable() else repr(part) for part in ([prefix] if prefix else []) + parts)[:200]


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:39] + "…")
