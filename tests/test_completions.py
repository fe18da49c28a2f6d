"""Completions are read a line at a time, and what is wrong with one is said by file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tjbench import completions
from tjbench.completions import Completion, read_completions
from tjbench.errors import ExitCode, UsageError

KNOWN = {"a", "b"}


def written(directory: Path, *lines: str | bytes) -> Path:
    path = directory / "answers.jsonl"
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return path


def line(task_id: str, text: str, **more: object) -> str:
    return json.dumps({"task_id": task_id, "completion": text, **more})


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as raised:
        list(read_completions(path, KNOWN))
    assert raised.value.exit_code is ExitCode.USAGE
    return str(raised.value)


def test_samples_of_a_task_are_counted_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, line("a", "1"), line("b", "2", passed=True), "", line("a", "3"), "")
    assert list(read_completions(path, KNOWN)) == [
        Completion(task_id="a", sample=0, text="1"),
        Completion(task_id="b", sample=0, text="2"),
        Completion(task_id="a", sample=1, text="3"),
    ]


def test_gzip_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(gzip.compress(line("a", "x").encode() + b"\n"))
    assert [c.text for c in read_completions(path, KNOWN)] == ["x"]


def test_half_a_character_survives_however_it_is_written(tmp_path: Path) -> None:
    raw = b'{"task_id": "a", "completion": "' + "\ud83d".encode("utf-8", "surrogatepass") + b'"}'
    path = written(tmp_path, line("a", "\udfff"), raw)
    assert [c.text for c in read_completions(path, KNOWN)] == ["\udfff", "\ud83d"]


def test_a_byte_order_mark_and_carriage_returns_are_no_fault(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + line("a", "x").encode() + b"\r", line("b", "y") + "\r")
    assert [c.text for c in read_completions(path, KNOWN)] == ["x", "y"]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("{", "cannot be read as JSON"),
        ("[1]", "is not a JSON object"),
        ("[" * 100_000, "cannot be read as JSON"),
        (b'{"task_id": "\xff"}', "is not UTF-8"),
        ('{"completion": "x"}', "the field task_id is missing"),
        ('{"task_id": "a"}', "the field completion is missing"),
        ('{"task_id": "a", "completion": null}', "completion must be a string"),
        ('{"task_id": 1, "completion": "x"}', "task_id must be a string"),
        (line("c", "x"), "the suite has no task 'c'"),
        (line("\ud83d", "x"), "the suite has no task '\\ud83d'"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str | bytes, says: str) -> None:
    path = written(tmp_path, line("a", "x"), "", bad, line("b", "y"))
    message = refused(path)
    assert message.startswith(f"{path}, line 3: ")
    assert says in message
    message.encode()


def test_what_precedes_a_bad_line_is_given(tmp_path: Path) -> None:
    reading = read_completions(written(tmp_path, line("a", "x"), "{"), KNOWN)
    assert next(reading).text == "x"
    with pytest.raises(UsageError, match="line 2"):
        next(reading)


def test_an_endless_line_is_refused_before_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "LINE_BYTES", 1 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (3 << 20)))
    assert "line 1: the line is longer than 1 MiB" in refused(path)


def test_a_damaged_archive_is_named_with_the_last_good_line(tmp_path: Path) -> None:
    whole = gzip.compress("".join(line("a", f"{n} " * 50) + "\n" for n in range(5000)).encode())
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert "is a damaged gzip file after line " in refused(path)
    path.write_bytes(whole[:-4] + b"\0\0\0\0")
    assert "is a damaged gzip file after line 5000" in refused(path)


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    assert f"the completions {tmp_path / name} cannot be read" in refused(tmp_path / name)


def test_nothing_is_read_ahead(tmp_path: Path) -> None:
    reading = read_completions(written(tmp_path, line("a", "x"), line("b", "y")), KNOWN)
    assert next(reading).task_id == "a"
    reading.close()
