"""What is wrong with a configuration, in the words of who wrote it: the key, its line, and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

Path = tuple[int | str, ...]
"""Keys and positions from the top of the configuration to a value."""

SHOWN = 80
_WORDS = {
    "tuple_type": "must be one value or a list",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "too_short": "must not be empty",
    "missing": "is missing",
    "extra_forbidden": "is unknown",
}
_PLAIN = {
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "date_type": "a date without quotes, such as 2026-12-31",
}
_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """The first thing that is wrong: where, and in words what. An ``unknown`` key is not allowed there at all."""

    path: Path
    message: str
    unknown: bool

    @property
    def key(self) -> str | None:
        """The innermost key; ``None`` where the whole is wrong."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), None)


def first_mistake(error: ValidationError, data: Mapping[str, object]) -> Mistake:
    """The first mistake in ``data``, with what pydantic says of its own inner workings left out."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    path = _written(first["loc"], data)
    if first["type"] == "missing":
        path = (*path, str(first["loc"][len(path)]))
    if first["type"] == "twice":
        path = ("proof", first["ctx"]["proof"])
    alike = [e for e in errors if _written(e["loc"], data) == path] or [first]
    said = [
        _WORDS.get(e["type"]) or _PLAIN.get(e["type"]) or str(e["msg"]).removeprefix("Value error, ") for e in alike
    ]
    message = " or ".join(dict.fromkeys(text.removeprefix("Input should be ") for text in said))
    if str(first["msg"]).startswith("Input should be ") and first["type"] not in _WORDS:
        message = f"must be {message}"
    got = repr(first["input"])
    if isinstance(first["input"], str | int | float) and len(got) <= SHOWN and first["type"] != "value_error":
        message += f" (got {got})"
    if first["type"] == "enum":
        message += suggestion(str(first["input"]), re.findall(r"'(\w+)'", str(first["ctx"]["expected"])))
    return Mistake(path=path, message=message, unknown=first["type"] == "extra_forbidden")


def suggestion(word: str, allowed: Sequence[str]) -> str:
    """``; did you mean …?`` where something allowed is close."""
    close = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def line_of(text: str, path: Path) -> int:
    """Line (from 1) on which TOML ``text`` has the key ``path``, else the innermost table around it, else 1."""
    table: Path = ()
    seen: Counter[Path] = Counter()
    best, line = 0, 1
    for number, written in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(written):
            table = here = _names(header[2])
            if header[1] == "[[":
                table = here = (*here, seen[here])
                seen[table[:-1]] += 1
        elif key := _KEY.match(written):
            here = (*table, *_names(key[1]))
        else:
            continue
        if len(here) > best and here == path[: len(here)]:
            best, line = len(here), number
    return line


def _names(dotted: str) -> Path:
    return tuple(name.strip("\"'") for name in re.findall(_NAME, dotted))


def _written(location: Sequence[int | str], data: object) -> Path:
    """The part of an error's location that stands in the data, not in the model's validators."""
    path: list[int | str] = []
    for part in location:
        if isinstance(data, Mapping):
            if part not in data:
                break
            data = data[part]
        elif isinstance(part, int) and isinstance(data, list | tuple):
            data = data[part]
        else:
            break
        path.append(part)
    return tuple(path)
