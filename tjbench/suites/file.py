"""A suite in a JSONL file: read, checked line by line, and said clearly where it is wrong."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tjbench.errors import UsageError
from tjbench.suites import record
from tjbench.suites.record import Header, TaskRecord
from tjbench.suites.task import Suite, Task

MAX_BYTES = 64 * 1024 * 1024
"""A larger suite file is refused."""

_Model = TypeVar("_Model", bound=BaseModel)
_CHECKS: dict[str, type[BaseModel]] = {
    "number": record.NumberRecord,
    "exact": record.ExactRecord,
    "contains": record.ContainsRecord,
    "regex": record.RegexRecord,
    "choice": record.ChoiceRecord,
    "unit_tests": record.UnitTestsRecord,
}
_PLAIN_WORDS = {
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "too_short": "must hold more",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line that holds an object."""

    path: Path
    number: int
    value: dict[str, object]

    def refuse(self, what: str, *, why: str = "", fix: str = "") -> NoReturn:
        raise UsageError(f"{self.path}, line {self.number}: {what}", why=why, fix=fix)

    def read_as(self, model: type[_Model], value: object, prefix: str = "") -> _Model:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            # A misspelt key also shows up as a missing one: the misspelling is the cause.
            first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
            self.refuse(**_explained(first, model, prefix))


def load_file(path: Path, *, name: str, packaged: bool) -> Suite:
    """The suite in a JSONL file, one task a line; the first line may be ``{"suite": {...}}`` and holds for all.

    ``name`` is the suite's name in results. Anything wrong is a UsageError that names file, line and field.
    """
    lines = list(_lines(path))
    header = Header()
    if lines and "suite" in lines[0].value:
        first, *lines = lines
        if len(first.value) > 1:
            first.refuse("a suite line holds nothing but suite", fix="put the task on a line of its own")
        header = first.read_as(Header, first.value["suite"], "suite")
    tasks: dict[str, Task] = {}
    seen: dict[str, int] = {}
    for line in lines:
        if "suite" in line.value:
            line.refuse("suite can only stand on the first line")
        task = line.read_as(TaskRecord, line.value).task(header)
        if task.id in seen:
            line.refuse(
                f"the id {task.id!r} is already on line {seen[task.id]}", fix="give every task an id of its own"
            )
        tasks[task.id], seen[task.id] = task, line.number
    if not tasks:
        raise UsageError(f"{path} holds no task", fix="write one task a line; docs/benchmarks.md shows how")
    return Suite(
        name=name,
        tasks=tuple(tasks.values()),
        packaged=packaged,
        n_available=len(tasks),
        description=header.description,
        source="packaged" if packaged else str(path),
    )


def _lines(path: Path) -> Iterator[_Line]:
    for number, text in enumerate(_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(
                text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_without_repeats
            )
            _refuse_lone_surrogates(text, value)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise UsageError(f"{where} cannot be read as JSON", why=why, fix="write one JSON object a line") from None
        if not isinstance(value, dict):
            raise UsageError(f"{where} is not a JSON object", fix='write one object a line: {"id": …, "prompt": …}')
        yield _Line(path=path, number=number, value=value)


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file", fix="name a .jsonl file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the suite {path} cannot be read", why=error.strerror or str(error)) from error
    if len(content) > MAX_BYTES:
        raise UsageError(f"the suite {path} is larger than {MAX_BYTES // 1024**2} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line} is not UTF-8", fix="save the file as UTF-8") from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {_quoted(repeated)} is there twice")
    return value


def _refuse_lone_surrogates(text: str, value: object) -> None:
    """JSON can spell half a character, which no provider and no file of ours can hold."""
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False, default=str).encode()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _explained(error: ErrorDetails, model: type[BaseModel], prefix: str) -> dict[str, str]:
    """What, why and fix for one validation error."""
    location = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        *parents, unknown = location
        allowed = list(_model_at(model, parents).model_fields)
        inside = f" in {_dotted(parents, prefix)}" if parents or prefix else ""
        return {"what": f"unknown field {_quoted(unknown)}{inside}", **_allowed(unknown, allowed)}
    where = _dotted(location, prefix)
    if error["type"] == "check_kind":
        given = error["input"]
        keys = [key for key in given if key not in record.CHECK_KINDS] if isinstance(given, dict) else []
        hint = _allowed(keys[0], list(record.CHECK_KINDS)) if keys else {}
        return {"what": f"{where}: {error['msg']}", "fix": hint.get("fix", "")}
    if error["type"] == "missing":
        return {
            "what": f"the field {where} is missing",
            "why": f"it takes {', '.join(_model_at(model, location[:-1]).model_fields)}",
        }
    message = _PLAIN_WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return {"what": f"{where}: {message}" if where else message}


def _allowed(unknown: str, allowed: list[str]) -> dict[str, str]:
    close = difflib.get_close_matches(unknown[:100], allowed, n=1)
    return {"why": f"allowed: {', '.join(allowed)}", "fix": f"did you mean {close[0]!r}?" if close else ""}


def _model_at(model: type[BaseModel], location: list[str]) -> type[BaseModel]:
    """The model that the fields at ``location`` belong to."""
    match location:
        case ["check", kind]:
            return _CHECKS[kind]
        case ["check", "unit_tests", "unit_tests"]:
            return record.UnitTestsBody
        case ["messages", _]:
            return record.MessageRecord
        case ["canned"]:
            return record.CannedRecord
        case _:
            return model


def _dotted(location: list[str], prefix: str) -> str:
    """The field's name as in the file: without the kind that pydantic puts behind ``check``."""
    parts = location[:1] + location[2:] if location[:1] == ["check"] else location
    return ".".join(part if part.isprintable() else repr(part) for part in ([prefix] if prefix else []) + parts)[:200]


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:39] + "…")
