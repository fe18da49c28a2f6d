"""Answers made elsewhere: a JSONL file with one completion a line, read no faster than it is asked for."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Container, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from tjbench.errors import UsageError

LINE_BYTES = 16 * 1024 * 1024
"""A longer line is refused: it would have to be held whole."""
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer. ``sample`` counts a task's completions from 0, in the order of the file."""

    task_id: str
    sample: int
    text: str


def read_completions(path: Path, known: Container[str]) -> Generator[Completion, None, None]:
    """The completions of a ``.jsonl`` file, compressed by gzip or not: ``{"task_id": …, "completion": …}`` a line.

    Fields beside these two are left alone, and half a character (a lone surrogate) is kept as it is. Raises
    ``UsageError`` with file and line for what cannot be read and for a task id that is not ``known``.
    """
    samples: Counter[str] = Counter()
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LINE_BYTES + 1):
                number += 1
                task_id, text = _parsed(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, path, number)
                if task_id is None:
                    continue
                if task_id not in known:
                    _refuse(
                        path,
                        number,
                        f"the suite has no task {task_id[:100]!r}",
                        fix="name the suite that was answered with --benchmark",
                    )
                yield Completion(task_id=task_id, sample=samples[task_id], text=text)
                samples[task_id] += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is a damaged gzip file after line {number}", why=str(error)) from None
    except OSError as error:
        raise UsageError(f"the completions {path} cannot be read", why=error.strerror or str(error)) from error


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        compressed = file.read(2) == _GZIP
    return cast("BinaryIO", gzip.open(path, "rb")) if compressed else path.open("rb")


def _parsed(line: bytes, path: Path, number: int) -> tuple[str, str] | tuple[None, str]:
    """Task id and completion; no task id for a blank line."""
    if len(line) > LINE_BYTES:
        _refuse(path, number, f"the line is longer than {LINE_BYTES >> 20} MiB")
    if not line.strip():
        return None, ""
    try:
        value = json.loads(line.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        _refuse(path, number, "the line is not UTF-8", fix="save the file as UTF-8")
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        _refuse(path, number, "the line cannot be read as JSON", why=why, fix="write one JSON object a line")
    if not isinstance(value, dict):
        _refuse(path, number, "the line is not a JSON object", fix='write {"task_id": "…", "completion": "…"}')
    for field in ("task_id", "completion"):
        if not isinstance(value.get(field), str):
            what = f"{field} must be a string" if field in value else f"the field {field} is missing"
            _refuse(path, number, what, fix='write {"task_id": "…", "completion": "…"}')
    return value["task_id"], value["completion"]


def _refuse(path: Path, number: int, what: str, *, why: str = "", fix: str = "") -> NoReturn:
    raise UsageError(f"{path}, line {number}: {what}", why=why, fix=fix)
