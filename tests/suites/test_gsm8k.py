"""GSM8K from a local file: rows to tasks, and what a bad row is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.fakes.shared import shared
from tjbench.errors import UsageError
from tjbench.models.model import Finish
from tjbench.runner.attempt import Attempt
from tjbench.scoring.scorer import score_attempt
from tjbench.suites.gsm8k import load
from tjbench.suites.task import NumberCheck, Task

GOOD = {"question": "How many legs have 3 dogs?", "answer": "3 dogs have 3 * 4 = <<3*4=12>>12 legs.\n#### 12"}


def written(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def passes(task: Task, text: str) -> bool | None:
    attempt = Attempt(task_id=task.id, sample=0, text=text, finish=Finish.STOP)
    return score_attempt(task, attempt, None).passed


def test_a_row_becomes_a_question_with_the_number_behind_the_marker_as_its_check(tmp_path: Path) -> None:
    suite = load(written(tmp_path, GOOD, {**GOOD, "answer": "#### 1,450,000"}, {**GOOD, "answer": "#### -3.5"}))
    assert [task.id for task in suite.tasks] == ["gsm8k/0", "gsm8k/1", "gsm8k/2"]
    assert [task.check for task in suite.tasks] == [
        NumberCheck(expected="12"),
        NumberCheck(expected="1450000"),
        NumberCheck(expected="-3.5"),
    ]
    assert (suite.name, suite.n_available, suite.packaged, suite.executes_code) == ("gsm8k", 3, False, False)


def test_the_prompt_holds_the_question_and_not_the_answer(tmp_path: Path) -> None:
    (task,) = load(written(tmp_path, GOOD)).tasks
    (message,) = task.messages
    assert message.role == "user"
    assert message.content.startswith("How many legs have 3 dogs?\n\n")
    assert "3 * 4" not in message.content


def test_canned_answers_pass_and_fail(tmp_path: Path) -> None:
    for task in load(written(tmp_path, GOOD, {**GOOD, "answer": "#### -1"})).tasks:
        assert task.canned is not None
        assert (passes(task, task.canned.right), passes(task, task.canned.wrong)) == (True, False)


def test_a_compressed_file_and_fields_of_no_use_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps({**GOOD, "split": "test"}) + "\n\n").encode()))
    assert load(path).n_available == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "q"}, "the field answer is missing"),
        ({"answer": "#### 1"}, "the field question is missing"),
        ({**GOOD, "question": " "}, "question: must not be blank"),
        ({**GOOD, "question": 7}, "question: must be a string"),
        ({**GOOD, "answer": "twelve"}, "answer: must end with the number after ####"),
        ({**GOOD, "answer": "12"}, "answer: must end with the number after ####"),
        ({**GOOD, "answer": "#### twelve"}, "answer: must end with the number after ####"),
        ({**GOOD, "answer": "#### 1,2"}, "answer: must end with the number after ####"),
        ([GOOD], "is not a JSON object"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path: Path, row: object, message: str) -> None:
    path = written(tmp_path, GOOD, row)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}, line 2")
    assert message in str(caught.value)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no row"):
        load(written(tmp_path))


def test_a_damaged_or_missing_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(GOOD).encode() * 100)
    for name, content in (("cut.jsonl.gz", whole[:-10]), ("plain.jsonl.gz", b"{}\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="is damaged after line"):
            load(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "missing.jsonl")


def test_the_real_test_split_loads_whole_and_its_solutions_pass() -> None:
    path = shared("gsm8k/test.jsonl")
    suite = load(path)
    assert suite.n_available == 1319
    answers = [json.loads(line)["answer"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert [task.id for task, answer in zip(suite.tasks, answers, strict=True) if not passes(task, answer)] == []
    assert [task.id for task in suite.tasks if task.canned and passes(task, task.canned.wrong)] == []
