"""Results as a table: a line a sample, columns task_id, model, passed and, where known, sample, tokens and dollars."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tjbench.errors import UsageError
from tjbench.imports.document import MOST, content_of
from tjbench.imports.outcome import FAILED, Choice, Gathered, Outcome, Results

REQUIRED = ("task_id", "model", "passed")
OPTIONAL = ("sample", "input_tokens", "output_tokens", "cost_usd")
NOT_JUDGED = "not_judged"
_PASSED = {
    **dict.fromkeys(("true", "1", "yes", "pass", "passed"), True),
    **dict.fromkeys(("false", "0", "no", "fail", "failed"), False),
    "": None,
}


def read(paths: Sequence[Path], choice: Choice) -> Results:
    """A blank ``passed`` is a sample that was not judged; blank tokens and dollars are unknown."""
    found = Gathered()
    for path in paths:
        for outcome in _outcomes(path, found):
            found.models.setdefault(outcome.model, (outcome.model,))
            found.outcomes.append(outcome)
    return found.results()


def _outcomes(path: Path, found: Gathered) -> Iterator[Outcome]:
    try:
        text = content_of(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", why=str(error), fix="save the file as UTF-8") from None
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = [name.strip() for name in rows.fieldnames or ()]
        missing = [name for name in REQUIRED if name not in columns]
        if missing:
            raise UsageError(
                f"{path}, line 1: no column {', '.join(missing)}",
                why=f"the columns are {', '.join(columns) or 'none'}",
                fix=f"write {','.join(REQUIRED)} and, where known, {','.join(OPTIONAL)}",
            )
        rows.fieldnames = columns
        unread = [name for name in columns if name not in (*REQUIRED, *OPTIONAL)]
        if unread:
            found.notes[f"{path.name}: columns not read: {', '.join(unread)}"] = None
        for row in rows:
            yield _outcome(row, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise UsageError(f"{path}, line {rows.reader.line_num}: not CSV", why=str(error)) from None


def _outcome(row: Mapping[str | None, str | list[str] | None], where: str) -> Outcome:
    if None in row or any(value is None for value in row.values()):
        raise UsageError(f"{where}: the line has {'more' if None in row else 'fewer'} fields than the first")
    cells = {str(name): str(value).strip() for name, value in row.items()}
    for name in ("task_id", "model"):
        if not cells[name]:
            raise UsageError(f"{where}: {name} is blank")
    word = cells["passed"].lower()
    if word not in _PASSED:
        raise UsageError(f"{where}: passed is {cells['passed']!r:.60}", fix="write true or false, or leave it blank")
    passed = _PASSED[word]
    return Outcome(
        model=cells["model"],
        task_id=cells["task_id"],
        sample=cells.get("sample", ""),
        passed=passed,
        cause=NOT_JUDGED if passed is None else None if passed else FAILED,
        input_tokens=_count(cells, "input_tokens", where),
        output_tokens=_count(cells, "output_tokens", where),
        cost_usd=_number(cells, "cost_usd", where),
        where=where,
    )


def _count(cells: Mapping[str, str], name: str, where: str) -> int | None:
    number = _number(cells, name, where)
    if number is not None and not number.is_integer():
        raise UsageError(f"{where}: {name} is {cells[name]!r:.60}", why="tokens are whole")
    return None if number is None else int(number)


def _number(cells: Mapping[str, str], name: str, where: str) -> float | None:
    text = cells.get(name, "")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{where}: {name} is {text!r:.60}", why="it is no number") from None
    if not 0 <= number <= MOST:
        raise UsageError(f"{where}: {name} is {text!r:.60}", why=f"it is not from 0 to {MOST}")
    return number
