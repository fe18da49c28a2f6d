"""Suites in YAML: the same tasks, the same mistakes by line and field, and no bombs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tjbench.errors import UsageError
from tjbench.suites import load_suite, yaml_entries
from tjbench.suites.file import load_file
from tjbench.suites.task import NumberCheck, Suite, TextCheck

SUITE = """\
suite:
  system: You are terse.
  prompt_template: |
    Question: {prompt}
  description: Facts
tasks:
  - id: capital
    prompt: What is the capital of Norway?
    check: {exact: Oslo}
  - id: seats
    messages:
      - {role: user, content: "How many seats?"}
    check:
      number: 0.1000000000000000000001
  - id: prime
    prompt: Is 91 a prime?
    check: {choice: no, labels: [yes, no]}
"""


def read(tmp_path: Path, text: str, name: str = "suite.yaml") -> Suite:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_file(path, name=name, packaged=False)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    return str(caught.value).removeprefix(str(tmp_path / "suite.yaml"))


def test_a_mapping_with_suite_and_tasks_is_read(tmp_path: Path) -> None:
    suite = read(tmp_path, SUITE)
    assert [task.id for task in suite.tasks] == ["capital", "seats", "prime"]
    assert [message.content for message in suite.tasks[0].messages] == [
        "You are terse.",
        "Question: What is the capital of Norway?\n",
    ]
    assert suite.tasks[1].check == NumberCheck(expected="0.1000000000000000000001")
    assert suite.tasks[2].check == TextCheck(kind="choice", expected="no", labels=("yes", "no"))
    assert suite.description == "Facts"


def test_a_list_is_what_the_lines_of_a_jsonl_file_are(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"suite": {"system": "s"}},
        {"id": "a", "prompt": "p", "check": {"json": {"subset": {"a": [1, 0.5, None, True, "x"]}}}},
        {"id": "b", "prompt": "p\nq", "check": {"number": "1/3"}, "canned": {"right": "1/3", "wrong": "2"}},
    ]
    jsonl = tmp_path / "suite.jsonl"
    jsonl.write_text("\n".join(map(json.dumps, lines)))
    expected = load_file(jsonl, name="s", packaged=False)
    assert read(tmp_path, json.dumps(lines)).tasks == expected.tasks
    assert read(tmp_path, json.dumps({"suite": {"system": "s"}, "tasks": lines[1:]}), "a.yml").tasks == expected.tasks


def test_plain_values_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    for text in ("yes", "no", "on", "off", "2024-01-01", "12:30:00", "0x1F", "1_000", "<<", ".nan", ".inf"):
        suite = read(tmp_path, f"- {{id: a, prompt: p, check: {{exact: {text}}}}}")
        assert suite.tasks[0].check == TextCheck(kind="exact", expected=text)


def test_a_part_may_be_named_once_and_used_again(tmp_path: Path) -> None:
    suite = read(
        tmp_path,
        "- {id: a, prompt: &question What is it?, check: &check {number: 3}}\n"
        "- {id: b, prompt: *question, check: *check}\n",
    )
    assert suite.tasks[0].messages == suite.tasks[1].messages
    assert suite.tasks[0].check == suite.tasks[1].check


def test_the_door_takes_both_endings(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.yml"):
        read(tmp_path, SUITE, name)
        suite = load_suite(name, workspace=tmp_path, confine=True)
        assert (suite.name, len(suite.tasks), suite.packaged) == (name, 3, False)


MISTAKES = [
    ("- id: a\n  prompt: p\n  check:\n    numbr: 1\n", r", line 3: check: must hold exactly one of .* 'number'"),
    ("- id: a\n  prompt: p\n  check:\n    number: 1\n    percnt: x\n", ", line 5: unknown field 'percnt' in check"),
    ("- id: a\n  prompt: p\n  check:\n    number: many\n", ", line 4: check.number: must be a number"),
    ("- {id: a, prompt: p, check: {number: 1}}\n\n- id: b\n  prompt: p\n", ", line 3: the field check is missing"),
    ("tasks:\n  - id: a\n    prompt: p\n    chek: {number: 1}\n", ", line 4: unknown field 'chek'"),
    ("- id: a\n  messages:\n  - role: usr\n    content: x\n  check: {number: 1}\n", ", line 3: messages.0.role: "),
    ("- id: 7\n  prompt: p\n  check: {number: 1}\n", ", line 1: id: must be a string"),
    ("- {id: a, prompt: p, check: {number: 1}}\n" * 2, ", line 2: the id 'a' is already on line 1"),
    ("- id: a\n  id: b\n", ", line 2: the field 'id' is there twice"),
    ("suite:\n  sytem: x\ntasks: []\n", ", line 2: unknown field 'sytem' in suite"),
    ("suite: {}\ntasks: {}\n", ", line 2: tasks must be a list of tasks"),
    ("suite: {}\n", ", line 1: tasks must be a list of tasks"),
    ("tasks: []\nmore: 1\n", ", line 2: unknown field 'more'"),
    ("- a\n", ", line 1: is not a mapping"),
    ("just text\n", ", line 1: is neither a list of tasks nor a mapping with tasks"),
    ("- {1: a}\n", ", line 1: a key is not text"),
    ("- ? [a]\n  : b\n", ", line 1: a key is not text"),
    ("- {id: !!python/object/apply:os.system [id]}\n", ", line 1: the tag 'tag:yaml.org,2002:python/obje"),
    ("- {id: !!binary aGk=}\n", ", line 1: the tag 'tag:yaml.org,2002:binary' is not read"),
    ("- {id: !own x}\n", ", line 1: the tag '!own' is not read"),
    ("- {id: a, check: {number: !!int x}}\n", ", line 1: 'x' is not a number that can be read"),
    ("- {id: a, check: {number: 1e99999999999999999999}}\n", ", line 1: '1e99999999999999999999' is not a number"),
    ("- [a\n- b\n", ", line 3 cannot be read as YAML"),
    ("- {id: *nobody}\n", ", line 1 cannot be read as YAML"),
    ("--- {}\n--- {}\n", ", line 2 cannot be read as YAML"),
    ("[" * 100_000, "cannot be read as YAML"),
    ("", " holds no task"),
    ("[]\n", " holds no task"),
    ("tasks: []\n", " holds no task"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_named_with_line_and_field(tmp_path: Path, text: str, message: str) -> None:
    assert re.search(message, refusal(tmp_path, text), re.DOTALL)


LAUGHS = "".join(f"- &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" if n else "- &l0 [lol, lol]\n" for n in range(12))
BOMBS = {
    "a billion laughs": LAUGHS,
    "one long text many times": f"- &text {'x' * 1_000_000}\n" + "- *text\n" * 1000,
    "a mapping of mappings": "".join(
        f"- &m{n} {{a: *m{n - 1}, b: *m{n - 1}}}\n" if n else "- &m0 {a: b}\n" for n in range(40)
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_aliases_cannot_blow_up(tmp_path: Path, kind: str) -> None:
    start = time.process_time()
    assert "its aliases stand for too much" in refusal(tmp_path, BOMBS[kind])
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", ["- &a {b: *a}\n", "- &a [*a]\n", "- &a [[[{b: *a}]]]\n"])
def test_an_alias_of_itself_is_refused(tmp_path: Path, text: str) -> None:
    assert "an alias of itself" in refusal(tmp_path, text)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    assert "is larger than 4 MiB" in refusal(tmp_path, "#" * (yaml_entries.MAX_BYTES + 1))


def test_what_is_not_utf_8_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_bytes(b"- a\n- \xff\n")
    with pytest.raises(UsageError, match="line 2 is not UTF-8"):
        load_file(tmp_path / "suite.yaml", name="s", packaged=False)


@pytest.mark.parametrize("name", ["missing.yaml", "folder.yaml"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(UsageError, match=r"cannot be read|is not a file"):
        load_file(tmp_path / name, name="s", packaged=False)
