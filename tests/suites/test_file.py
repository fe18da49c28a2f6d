"""A user's suite file: what it means when it is right, and what it says when it is not."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tjbench.errors import ExitCode, UsageError
from tjbench.models.model import Finish
from tjbench.runner.attempt import Attempt
from tjbench.sandbox import open_box
from tjbench.scoring.judge import Judge, ScriptedJudge
from tjbench.scoring.scorer import score_attempt
from tjbench.suites.checks import CHECK_KINDS
from tjbench.suites.entries import MAX_BYTES
from tjbench.suites.file import load_file
from tjbench.suites.task import (
    Canned,
    JsonCheck,
    JudgedCheck,
    Message,
    NumberCheck,
    Suite,
    Task,
    TextCheck,
    UnitTests,
)

DOC = Path(__file__).parents[2] / "docs" / "benchmarks.md"
CHECK_TESTS = "def check(candidate):\n    assert candidate(1) == 2\n"


def suite_of(tmp_path: Path, *lines: object) -> Suite:
    path = tmp_path / "suite.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_file(path, name="suite.jsonl", packaged=False)


def task_line(**changes: object) -> dict[str, object]:
    line: dict[str, object] = {"id": "t1", "prompt": "What is 6 x 7?", "check": {"number": 42}}
    return {key: value for key, value in {**line, **changes}.items() if value is not None}


def refusal(tmp_path: Path, *lines: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        suite_of(tmp_path, *lines)
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value


def test_a_prompt_becomes_one_message_of_the_user(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, task_line())
    (task,) = suite.tasks
    assert task.messages == (Message(role="user", content="What is 6 x 7?"),)
    assert task.check == NumberCheck(expected="42")
    assert (suite.name, suite.packaged, suite.n_available) == ("suite.jsonl", False, 1)


def test_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    header = {"suite": {"system": "not this", "prompt_template": "not {prompt}"}}
    (task,) = suite_of(tmp_path, header, task_line(prompt=None, messages=messages)).tasks
    assert [(message.role, message.content) for message in task.messages] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
    ]


def test_the_suite_line_holds_for_all_tasks_and_a_task_s_own_system_text_wins(tmp_path: Path) -> None:
    header = {"suite": {"system": "all", "prompt_template": "<{prompt}>", "description": "d"}}
    suite = suite_of(tmp_path, header, task_line(), task_line(id="t2", system="own"))
    assert [[message.content for message in task.messages] for task in suite.tasks] == [
        ["all", "<What is 6 x 7?>"],
        ["own", "<What is 6 x 7?>"],
    ]
    assert suite.description == "d"


def test_the_template_replaces_its_placeholder_and_formats_nothing(tmp_path: Path) -> None:
    header = {"suite": {"prompt_template": "{0} {prompt!r} {prompt} {x.__class__} %s"}}
    (task,) = suite_of(tmp_path, header, task_line(prompt="{prompt} {0}")).tasks
    assert task.messages[0].content == "{0} {prompt!r} {prompt} {0} {x.__class__} %s"


CHECKS = [
    ({"number": 42}, NumberCheck(expected="42")),
    ({"number": -1.50}, NumberCheck(expected="-1.5")),
    ({"number": "1/3"}, NumberCheck(expected="1/3")),
    ({"number": "0.6", "percent": "as_fraction"}, NumberCheck(expected="0.6", percent="as_fraction")),
    ({"exact": "Oslo"}, TextCheck(kind="exact", expected="Oslo")),
    ({"contains": "Oslo", "case_sensitive": True}, TextCheck(kind="contains", expected="Oslo", case_sensitive=True)),
    ({"regex": "^a+$"}, TextCheck(kind="regex", expected="^a+$")),
    ({"choice": "B"}, TextCheck(kind="choice", expected="B", labels=("A", "B", "C", "D"))),
    ({"choice": "no", "labels": ["yes", "no"]}, TextCheck(kind="choice", expected="no", labels=("yes", "no"))),
    (
        {"unit_tests": {"entry_point": "f", "tests": CHECK_TESTS, "preamble": "import math\n"}},
        UnitTests(entry_point="f", tests=CHECK_TESTS, preamble="import math\n"),
    ),
    ({"json": {"subset": {"b": 1, "a": [0.50]}}}, JsonCheck(mode="subset", expected='{"a":[0.5],"b":1}')),
    ({"json": {"schema": {"type": "object"}}}, JsonCheck(mode="schema", expected='{"type":"object"}')),
    ({"judged": {"criteria": "c"}}, JudgedCheck(criteria="c")),
    (
        {"judged": {"criteria": "c", "reference": "r", "threshold": 0.75}},
        JudgedCheck(criteria="c", reference="r", threshold=0.75),
    ),
    (
        {"unit_tests": {"entry_point": "f", "tests": CHECK_TESTS}},
        UnitTests(entry_point="f", tests=CHECK_TESTS, preamble=""),
    ),
]


@pytest.mark.parametrize(("written", "meant"), CHECKS)
def test_each_kind_of_check_is_read(tmp_path: Path, written: object, meant: object) -> None:
    assert suite_of(tmp_path, task_line(check=written)).tasks[0].check == meant


def test_a_decimal_keeps_the_digits_that_were_written(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_text('{"id": "t", "prompt": "p", "check": {"number": 0.1000000000000000000001}}')
    check = load_file(path, name="s", packaged=False).tasks[0].check
    assert check == NumberCheck(expected="0.1000000000000000000001")


@pytest.mark.parametrize(
    "check",
    [
        {"number": 42},
        {"number": "-1"},
        {"number": "9" * 60},
        {"number": "1/3"},
        {"number": "0.6", "percent": "as_fraction"},
        {"exact": "Oslo"},
        {"exact": "not"},
        {"contains": "?"},
        {"contains": "o"},
        {"choice": "A"},
        {"choice": "no", "labels": ["yes", "no"]},
        {"json": {"subset": {"a": [1.50, None, {"b": "\u00e9"}]}}},
        {"json": {"subset": {"a": {}}}},
        {"json": {"subset": [1, 2]}},
        {"json": {"subset": []}},
        {"json": {"subset": [[]]}},
    ],
)
def test_derived_answers_for_the_mock_model_pass_and_fail_their_check(tmp_path: Path, check: object) -> None:
    (task,) = suite_of(tmp_path, task_line(check=check)).tasks
    assert task.canned is not None
    for answer, passed in ((task.canned.right, True), (task.canned.wrong, False)):
        attempt = Attempt(task_id=task.id, sample=0, text=answer, finish=Finish.STOP)
        assert score_attempt(task, attempt, None).passed is passed


@pytest.mark.parametrize(
    "check",
    [
        {"regex": "a"},
        {"json": {"schema": {}}},
        {"unit_tests": {"entry_point": "f", "tests": CHECK_TESTS}},
        {"judged": {"criteria": "c", "reference": "r"}},
    ],
)
def test_no_answer_is_made_up_where_none_can_be_derived(tmp_path: Path, check: object) -> None:
    assert suite_of(tmp_path, task_line(check=check)).tasks[0].canned is None


def test_canned_answers_of_the_file_win(tmp_path: Path) -> None:
    (task,) = suite_of(tmp_path, task_line(canned={"right": "r", "wrong": "w"})).tasks
    assert task.canned == Canned(right="r", wrong="w")


def test_the_suite_decides_what_a_percentage_is_worth_where_the_check_does_not(tmp_path: Path) -> None:
    lines = [
        task_line(check={"number": "0.6"}),
        task_line(id="t2", check={"number": 60, "percent": "as_written"}),
        task_line(id="t3", check={"exact": "60%"}),
    ]
    suite = suite_of(tmp_path, {"suite": {"percent": "as_fraction"}}, *lines)
    assert [task.check for task in suite.tasks] == [
        NumberCheck(expected="0.6", percent="as_fraction"),
        NumberCheck(expected="60", percent="as_written"),
        TextCheck(kind="exact", expected="60%"),
    ]


def test_a_compressed_suite_is_the_same_suite(tmp_path: Path) -> None:
    plain = suite_of(tmp_path, {"suite": {"system": "s"}}, task_line())
    path = tmp_path / "suite.jsonl.gz"
    path.write_bytes(gzip.compress((tmp_path / "suite.jsonl").read_bytes()))
    assert load_file(path, name="suite.jsonl", packaged=False) == plain
    path.write_bytes(gzip.compress(b"\n" + b" " * (MAX_BYTES + 1)))
    with pytest.raises(UsageError, match="is larger than 64 MiB"):
        load_file(path, name="s", packaged=False)


def test_changing_a_prompt_changes_the_prompts_revision_only(tmp_path: Path) -> None:
    before, after = suite_of(tmp_path, task_line()), suite_of(tmp_path, task_line(prompt="What is 7 x 6?"))
    assert before.prompts_revision != after.prompts_revision
    assert before.checks_revision == after.checks_revision


def test_blank_lines_and_a_byte_order_mark_do_not_matter_and_lines_end_at_newlines_only(tmp_path: Path) -> None:
    path = tmp_path / "suite.jsonl"
    line = '{"id": "t%d", "prompt": "a\u2028b", "check": {"number": 1}}'
    path.write_bytes(("\ufeff\n" + line % 1 + "\r\n\n" + line % 2).encode())
    suite = load_file(path, name="s", packaged=False)
    assert [task.id for task in suite.tasks] == ["t1", "t2"]
    assert suite.tasks[0].messages[0].content == "a\u2028b"


NESTED: list[object] = []
for _ in range(101):
    NESTED = [NESTED]
REFUSED: list[tuple[dict[str, object], str]] = [
    (task_line(prompt=None, promt="x"), r"unknown field 'promt'[\s\S]*allowed: id, prompt[\s\S]*did you mean 'prompt'"),
    (task_line(check={"numbr": 1}), r"check: must hold exactly one of number, exact[\s\S]*did you mean 'number'"),
    (task_line(check={"number": 1, "exact": "x"}), "check: must hold exactly one"),
    (task_line(check=3), "check: must hold exactly one"),
    (task_line(check=None), "the field check is missing"),
    (task_line(check={"number": 1, "percnt": 1}), r"unknown field 'percnt' in check[\s\S]*did you mean 'percent'"),
    (task_line(check={"number": 1, "percent": "x"}), "check.percent: .*as_written.*as_fraction"),
    (task_line(check={"number": "70,000"}), "check.number: must be a number such as"),
    (task_line(check={"number": "many"}), "check.number: must be a number such as"),
    (task_line(check={"number": True}), "check.number: must be a number such as"),
    (task_line(check={"number": "1/0"}), "check.number: must be a number such as"),
    (task_line(check={"number": "1e999999"}), "check.number: must be a number such as"),
    (task_line(check={"exact": " "}), "check.exact: must not be blank"),
    (task_line(check={"exact": "a", "case_sensitive": "no"}), "check.case_sensitive: must be true or false"),
    (task_line(check={"regex": "("}), "check.regex: is not a regular expression: missing"),
    (task_line(check={"regex": "(" * 1500 + ")" * 1500}), "check.regex: String should have at most 2000"),
    (task_line(check={"regex": "(" * 900 + ")" * 900}), "check.regex: is not a regular expression"),
    (task_line(check={"choice": "E"}), r"check: choice must be one of the labels \(A, B, C, D\)"),
    (task_line(check={"choice": "a", "labels": ["a", "A"]}), "labels must differ"),
    (task_line(check={"unit_tests": {"entry_point": "f g", "tests": CHECK_TESTS}}), "unit_tests.entry_point: must be"),
    (task_line(check={"unit_tests": {"entry_point": "f", "tests": "x = 1"}}), r"tests: must define check\(candidate\)"),
    (task_line(check={"unit_tests": {"entry_point": "f", "tests": "def check(:"}}), "unit_tests.tests: is not Python"),
    (task_line(check={"unit_tests": {"entry_point": "f", "test": ""}}), r"'test' in check.unit_tests[\s\S]*'tests'"),
    (task_line(check={"json": {"subst": {}}}), r"unknown field 'subst' in check.json[\s\S]*did you mean 'subset'"),
    (task_line(check={"json": {}}), "check.json: must hold either subset or schema"),
    (task_line(check={"json": {"subset": {"a": 1}, "schema": {}}}), "check.json: must hold either subset or schema"),
    (task_line(check={"json": {"subset": {}}}), "check.json.subset: must hold at least one key"),
    (task_line(check={"json": {"subset": "x"}}), "check.json.subset: must be an object or a list"),
    (task_line(check={"json": {"subset": NESTED}}), "check.json.subset: must not be nested more than 100 deep"),
    (task_line(check={"json": {"schema": {"type": "objct"}}}), "check.json.schema: type is not a schema: 'objct'"),
    (task_line(check={"json": {"schema": []}}), "check.json.schema: must be an object"),
    (task_line(check={"json": {"schema": {"$ref": "https://x.invalid/y"}}}), "check.json.schema: .*nothing is fetched"),
    (task_line(check={"json": {"schema": {"$ref": "#/$defs/a"}}}), "check.json.schema: .*points nowhere"),
    (task_line(check={"json": {"schema": {"pattern": "("}}}), "check.json.schema: pattern is not a schema"),
    (task_line(check={"json": {"schema": {"$schema": "mine"}}}), "check.json.schema: .*no draft of JSON Schema"),
    (
        task_line(check={"json": {"schema": {"patternProperties": {}, "unevaluatedProperties": False}}}),
        "check.json.schema: cannot hold both",
    ),
    (task_line(check={"judged": {}}), r"check.judged.criteria is missing[\s\S]*criteria, reference, threshold"),
    (task_line(check={"judged": {"criteria": " "}}), "check.judged.criteria: must not be blank"),
    (task_line(check={"judged": {"criteria": "c", "threshold": 0}}), "check.judged.threshold: .*greater than 0"),
    (
        task_line(check={"judged": {"criteria": "c", "threshold": 7}}),
        "check.judged.threshold: .*less than or",
    ),
    (task_line(check={"judged": "c"}), "check.judged: must be an object"),
    (task_line(canned={"rigth": "1"}), r"unknown field 'rigth' in canned[\s\S]*did you mean 'right'"),
    (task_line(canned={"right": "1"}), "the field canned.wrong is missing"),
    (task_line(id=7), "id: must be a string"),
    (task_line(id="a\nb"), "id: must hold printable characters only"),
    (task_line(prompt=""), "prompt: must not be blank"),
    (task_line(prompt=None), "must hold either prompt or messages"),
    (task_line(messages=[{"role": "user", "content": "x"}]), "must hold either prompt or messages"),
    (task_line(prompt=None, messages=[{"role": "usr", "content": "x"}]), "messages.0.role: .*'user'"),
    (task_line(prompt=None, messages=[{"role": "assistant", "content": "x"}]), "must end with a message of the user"),
    (task_line(prompt="\ud800"), "surrogates not allowed"),
    ({"suite": {}, "id": "x"}, "a suite line holds nothing but suite"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_a_mistake_is_named_with_file_line_and_field(tmp_path: Path, line: dict[str, object], message: str) -> None:
    first = [] if "suite" in line else [task_line(id="good")]
    error = refusal(tmp_path, *first, line)
    assert str(error).startswith(f"{tmp_path / 'suite.jsonl'}, line {len(first) + 1}")
    assert re.search(message, str(error))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"sytem": "x"}, r"unknown field 'sytem' in suite[\s\S]*did you mean 'system'"),
        ({"prompt_template": "no placeholder"}, r"suite.prompt_template: must hold \{prompt\}"),
        (3, "suite: must be an object"),
    ],
)
def test_a_mistake_in_the_suite_line_is_named(tmp_path: Path, header: object, message: str) -> None:
    assert re.search(message, str(refusal(tmp_path, {"suite": header}, task_line())))


def test_a_suite_line_can_only_come_first(tmp_path: Path) -> None:
    assert "line 2: suite can only stand on the first line" in str(refusal(tmp_path, task_line(), {"suite": {}}))


def test_a_repeated_id_is_named_with_both_lines(tmp_path: Path) -> None:
    error = refusal(tmp_path, task_line(), task_line(id="t2"), task_line())
    assert "line 3: the id 't1' is already on line 1" in str(error)


BROKEN = {
    "line 1 cannot be read as JSON": b"nope",
    "line 2 cannot be read as JSON": b'\n{"id": "a"',
    "the field 'id' is there twice": b'{"id": "a", "id": "b"}',
    "NaN is not a JSON value": b'{"id": NaN}',
    "line 1 is not a JSON object": b"[1]",
    "recursion": b"[" * 100_000,
    "line 3 is not UTF-8": b"\n\n\xff\n",
    "holds no task": b"",
    "suite.jsonl holds no task": b'{"suite": {}}\n\n',
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_file_is_refused(tmp_path: Path, message: str) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_bytes(BROKEN[message])
    with pytest.raises(UsageError) as caught:
        load_file(path, name="s", packaged=False)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("place", ["missing.jsonl", ""])
def test_what_is_no_file_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read|is not a file"):
        load_file(tmp_path / place, name="s", packaged=False)


EXAMPLE = re.compile(r"^```(jsonl|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [(kind, text) for kind, text in EXAMPLE.findall(DOC.read_text(encoding="utf-8"))]


def documented(tmp_path: Path) -> list[Task]:
    tasks: list[Task] = []
    for number, (kind, text) in enumerate(EXAMPLES):
        path = tmp_path / f"{number}.{kind}"
        path.write_text(text, encoding="utf-8")
        tasks += load_file(path, name="doc", packaged=False).tasks
    return tasks


def test_the_documentation_shows_every_kind_of_check_in_both_formats(tmp_path: Path) -> None:
    assert {task.check.kind for task in documented(tmp_path)} == set(CHECK_KINDS)
    assert {kind for kind, _ in EXAMPLES} == {"jsonl", "yaml"}


def test_the_documentations_answers_pass_and_fail_as_it_says(tmp_path: Path) -> None:
    tasks = documented(tmp_path)
    judge = Judge(ScriptedJudge({task.id: frozenset({task.canned.right}) for task in tasks if task.canned}))
    with open_box(workers=1, trusted=True) as box:
        for task in tasks:
            assert task.canned is not None, task.id
            for text, passed in ((task.canned.right, True), (task.canned.wrong, False)):
                attempt = Attempt(task_id=task.id, sample=0, text=text, finish=Finish.STOP)
                assert score_attempt(task, attempt, box, judge).passed is passed, task.id
