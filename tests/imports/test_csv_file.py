"""A table of results: what a line says is taken as it stands, and what is wrong is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.foreign import csv_text, write
from tjbench.errors import UsageError
from tjbench.imports.csv_file import read
from tjbench.imports.outcome import Choice, Outcome, Results


def of(directory: Path, text: str) -> Results:
    return read([write(directory / "r.csv", text)], Choice())


def test_every_column_is_read(tmp_path: Path) -> None:
    text = (
        "task_id,model,passed,sample,input_tokens,output_tokens,cost_usd\n"
        '"a, b",openai:big,TRUE,0,100,20,0.0125\n'
        "c,openai:big,no,1,,,\n"
        "c,openai:small,,,7.0,0,0\n"
    )
    results = of(tmp_path, text)
    first, second, third = results.outcomes
    assert first == Outcome(
        model="openai:big",
        task_id="a, b",
        sample="0",
        passed=True,
        input_tokens=100,
        output_tokens=20,
        cost_usd=0.0125,
        where=f"{tmp_path / 'r.csv'}, line 2",
    )
    assert (second.passed, second.cause, second.input_tokens, second.cost_usd) == (False, "failed", None, None)
    assert (third.passed, third.cause, third.input_tokens, third.cost_usd) == (None, "not_judged", 7, 0.0)
    assert list(results.models) == ["openai:big", "openai:small"]


@pytest.mark.parametrize(
    ("word", "passed"),
    [("true", True), ("1", True), ("Yes", True), ("passed", True), ("False", False), ("0", False), ("fail", False)],
)
def test_pass_and_fail_are_said_in_many_words(tmp_path: Path, word: str, passed: bool) -> None:
    (outcome,) = of(tmp_path, f"task_id,model,passed\nt,m:x, {word} \n").outcomes
    assert outcome.passed is passed


def test_columns_may_stand_in_any_order_and_unknown_ones_are_said(tmp_path: Path) -> None:
    results = of(tmp_path, "\N{BYTE ORDER MARK}cost,passed, model ,task_id\r\n1,1,m:x,t\r\n")
    assert [(o.task_id, o.model, o.cost_usd) for o in results.outcomes] == [("t", "m:x", None)]
    assert results.notes == ("r.csv: columns not read: cost",)


def test_several_files_are_one_table(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.csv", csv_text({name: "p"})) for name in ("m:a", "m:b")]
    assert [o.model for o in read(paths, Choice()).outcomes] == ["m:a", "m:b"]


HEAD = "task_id,model,passed,input_tokens,cost_usd\n"


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("", "line 1: no column task_id, model, passed", "the columns are none"),
        ("task,model,passed\n", "line 1: no column task_id", "the columns are task, model, passed"),
        (HEAD + "t,m:x,maybe,,\n", "line 2: passed is 'maybe'", ""),
        (HEAD + "t,m:x,1,,\n,m:x,1,,\n", "line 3: task_id is blank", ""),
        (HEAD + "t,,1,,\n", "line 2: model is blank", ""),
        (HEAD + "t,m:x,1\n", "line 2: the line has fewer fields than the first", ""),
        (HEAD + "t,m:x,1,1,1,1\n", "line 2: the line has more fields than the first", ""),
        (HEAD + "t,m:x,1,many,\n", "line 2: input_tokens is 'many'", "it is no number"),
        (HEAD + "t,m:x,1,1.5,\n", "line 2: input_tokens is '1.5'", "tokens are whole"),
        (HEAD + "t,m:x,1,-1,\n", "line 2: input_tokens is '-1'", "not from 0"),
        (HEAD + "t,m:x,1,,nan\n", "line 2: cost_usd is 'nan'", "not from 0"),
        (HEAD + "t,m:x,1,1e30,\n", "line 2: input_tokens is '1e30'", "not from 0"),
        (HEAD + '"t,m:x,1,,\n', "line 2: not CSV", "unexpected end of data"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, what: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(tmp_path, text)
    assert caught.value.what.startswith(f"{tmp_path / 'r.csv'}, {what}")
    assert why in caught.value.why


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read([tmp_path / "absent.csv"], Choice())
    (tmp_path / "latin.csv").write_bytes(b"task_id,model,passed\n\xe9,m:x,1\n")
    with pytest.raises(UsageError, match=r"latin\.csv is not UTF-8"):
        read([tmp_path / "latin.csv"], Choice())
