"""A table as CSV is read back as it was, and no cell of it is a formula."""

from __future__ import annotations

import csv
import io

import pytest

from tjbench.report.spreadsheet import as_csv


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_a_text_that_a_spreadsheet_would_run_is_quoted(name: str) -> None:
    assert list(csv.reader(io.StringIO(as_csv([{"a": name}], ["a"]), newline=""))) == [["a"], [f"'{name}"]]


def test_other_texts_and_numbers_stay_as_they_are() -> None:
    row = {"a": 'a=b, "c"', "b": -1.5, "c": None, "d": True}
    assert list(csv.DictReader(io.StringIO(as_csv([row], list(row))))) == [
        {"a": 'a=b, "c"', "b": "-1.5", "c": "", "d": "true"}
    ]
