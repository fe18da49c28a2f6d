"""Tables as CSV that a spreadsheet shows as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A text that begins so is a formula to a spreadsheet, whoever wrote it (OWASP, "CSV Injection")."""


def as_csv(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> str:
    """A header and a line a row: texts quoted, numbers raw, times as ISO 8601, nothing for ``None``; an apostrophe
    before a text that a spreadsheet would run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
