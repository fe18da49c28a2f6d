"""A file of objects, one a line: read as it is asked for, and said clearly where it is wrong."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import count
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from tjbench.errors import UsageError
from tjbench.suites.mistakes import explain, path_in_file

MAX_BYTES = 64 * 1024 * 1024
"""A larger file is refused, unpacked size counted."""

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One object of a file, from its ``line`` (from 1) on; ``line_of`` gives the line of the field at a path where the
    object takes several."""

    path: Path
    line: int
    value: dict[str, object]
    line_of: Callable[[tuple[int | str, ...]], int] | None = None

    def refuse(self, what: str, *, why: str = "", fix: str = "", line: int | None = None) -> NoReturn:
        raise UsageError(f"{self.path}, line {line or self.line}: {what}", why=why, fix=fix)

    def read_as(self, model: type[_Model], at: tuple[str, ...] = ()) -> _Model:
        """The object, or what lies in it ``at`` some field, as a ``model``."""
        value: object = self.value
        for part in at:
            value = cast("dict[str, object]", value)[part]
        try:
            return model.model_validate(value)
        except ValidationError as error:
            # A misspelt key also shows up as a missing one: the misspelling is the cause.
            first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
            line = self.line_of((*at, *path_in_file(first["loc"]))) if self.line_of else self.line
            self.refuse(**explain(first, model, ".".join(at)), line=line)
        except RecursionError:
            self.refuse("is nested too deeply")


def jsonl_entries(path: Path) -> Iterator[Entry]:
    """The objects of a JSONL file, compressed when its name ends in ``.gz``; blank lines are skipped.

    Anything wrong is a ``UsageError`` that names file and line.
    """
    number = 0
    try:
        with _opened(path) as file:
            left = MAX_BYTES
            for number in count(1):
                raw = file.readline(left + 1)
                left -= len(raw)
                if left < 0:
                    raise UsageError(f"{path} is larger than {MAX_BYTES // 1024**2} MiB")
                if not raw:
                    return
                text = _decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, path, number)
                if text.strip():
                    yield _entry(text, path, number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is damaged after line {number - 1}", why=str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error


def require_file(path: Path) -> None:
    """Raises ``UsageError`` where ``path`` is a directory, a device or a pipe."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a file", fix="name a .jsonl, .jsonl.gz, .yaml or .yml file")
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error


def refuse_lone_surrogates(value: object) -> None:
    """JSON and YAML can spell half a character, which no provider and no file of ours can hold: ``ValueError``."""
    json.dumps(value, ensure_ascii=False, default=str).encode()


def _opened(path: Path) -> BinaryIO:
    require_file(path)
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}, line {number} is not UTF-8", fix="save the file as UTF-8") from None


def _entry(text: str, path: Path, number: int) -> Entry:
    where = f"{path}, line {number}"
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_without_repeats)
        if "\\ud" in text.lower():
            refuse_lone_surrogates(value)
    except (ValueError, RecursionError, InvalidOperation) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise UsageError(f"{where} cannot be read as JSON", why=why, fix="write one JSON object a line") from None
    if not isinstance(value, dict):
        raise UsageError(f"{where} is not a JSON object", fix="write one object a line: {…}")
    return Entry(path=path, line=number, value=value)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {repeated!r:.60} is there twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
