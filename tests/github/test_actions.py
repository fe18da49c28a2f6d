"""Inputs, files and commands, read back the way the runner reads them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tjbench.github.actions import MAX_SUMMARY_BYTES, Commands, Level, inputs, write_outputs, write_summary


def runner_outputs(text: str) -> dict[str, str]:
    """Parse an output file by the documented ``NAME<<DELIMITER`` rule."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, _, delimiter = line.partition("<<")
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


def runner_commands(text: str) -> list[tuple[str, str]]:
    """The commands a runner would obey: lines that start with ``::``, until stopped by a token."""
    obeyed, stopped = [], ""
    for line in re.split(r"\r\n|\r|\n", text):
        match = re.match(r"\s*::([^:\s]+)([^:]*)::(.*)", line)
        if not match:
            continue
        name, _, data = match.groups()
        if stopped:
            stopped = "" if name == stopped else stopped
        elif name == "stop-commands":
            stopped = data
        else:
            obeyed.append((name, data))
    return obeyed


def test_both_spellings_of_an_input_are_read_and_the_hyphen_wins() -> None:
    assert inputs({"INPUT_MAX_COST_USD": "5", "INPUT_MAX-COST-USD": "7", "PATH": "x"}) == {"max-cost-usd": "7"}
    assert inputs({"INPUT_MAX-COST-USD": "7", "INPUT_MAX_COST_USD": "5"}) == {"max-cost-usd": "7"}
    assert inputs({"INPUT_MAX_COST_USD": "5"}) == {"max-cost-usd": "5"}


def test_an_empty_input_is_absent_and_does_not_hide_the_other_spelling() -> None:
    assert inputs({"INPUT_FAIL-ON": " ", "INPUT_FAIL_ON": "regression", "INPUT_MOCK": ""}) == {"fail-on": "regression"}


def test_unknown_inputs_are_handed_on_for_the_caller_to_refuse() -> None:
    assert inputs({"INPUT_BENCHMARK": "a,b\n"}) == {"benchmark": "a,b"}


@pytest.mark.parametrize("value", ["", "one", "a\nb\n", "x\ntjb-0\nEOF\nstatus<<EOF\nfake\nEOF", "[1]\r\n", "ünïcode"])
def test_any_output_value_comes_back_as_it_was(tmp_path: Path, value: str) -> None:
    file = tmp_path / "output"
    write_outputs(file, {"status": "pass"})
    write_outputs(file, {"verdicts": value, "cost-usd": "0.1"})
    with file.open(newline="") as stored:
        assert runner_outputs(stored.read()) == {"status": "pass", "verdicts": value, "cost-usd": "0.1"}


def test_an_output_name_cannot_smuggle_a_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_outputs(tmp_path / "output", {"a=b\nc": "d"})


def test_a_summary_that_fits_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    assert write_summary(file, "# one")
    assert write_summary(file, "# two")
    assert file.read_text() == "# one\n# two\n"


def test_a_summary_is_cut_at_a_line_in_bytes_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_text("earlier\n")
    row = "| é🌈 | " + "x" * 89
    assert not write_summary(file, "\n".join([row] * 20_000))
    data = file.read_bytes()
    assert MAX_SUMMARY_BYTES - 2 * len(row.encode()) < len(data) <= MAX_SUMMARY_BYTES
    *rows, blank, note = data.decode().splitlines()
    assert set(rows[1:]) == {row}
    assert blank == ""
    assert "1 MiB" in note


def test_a_full_summary_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * MAX_SUMMARY_BYTES)
    assert not write_summary(file, "more")
    assert file.stat().st_size == MAX_SUMMARY_BYTES


def test_escaping_follows_the_toolkit() -> None:
    out = io.StringIO()
    Commands(out).annotation("error", "50% a:b,c\r\nd", title="x: 1,2%\n")
    assert out.getvalue() == "::error title=x%3A 1%2C2%25%0A::50%25 a:b,c%0D%0Ad\n"


def test_every_line_of_a_secret_is_masked_and_blanks_are_not() -> None:
    out = io.StringIO()
    commands = Commands(out)
    commands.mask("key-1")
    commands.mask("first\n\nsecond")
    commands.mask("")
    assert out.getvalue() == (
        "::add-mask::key-1\n::add-mask::first%0A%0Asecond\n::add-mask::first\n::add-mask::second\n"
    )


@pytest.mark.parametrize("level", ["error", "warning", "notice"])
def test_no_more_than_ten_annotations_of_a_kind_and_none_lost(level: Level) -> None:
    out = io.StringIO()
    commands = Commands(out)
    assert [commands.annotation(level, f"m{i}") for i in range(12)] == [True] * 10 + [False] * 2
    assert [name for name, _ in runner_commands(out.getvalue())] == [level] * 10
    assert "m11" in out.getvalue()


def test_a_group_is_closed_when_its_body_fails() -> None:
    out = io.StringIO()
    with pytest.raises(RuntimeError), Commands(out).group("a\n::error::b"):
        raise RuntimeError
    assert runner_commands(out.getvalue()) == [("group", "a%0A::error::b"), ("endgroup", "")]


@pytest.mark.parametrize(
    "hostile",
    ["::set-output name=status::pass", "a\r::add-mask::b", "::stop-commands::x\n::x::\n::error::y", "  ::error::z"],
)
def test_no_line_of_foreign_text_runs(hostile: str) -> None:
    out = io.StringIO()
    commands = Commands(out)
    commands.print(hostile)
    commands.annotation("notice", "after")
    assert runner_commands(out.getvalue()) == [("notice", "after")]
    assert hostile.strip() in out.getvalue()
