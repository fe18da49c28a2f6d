"""JSON in the forms that models give it, held against what a task expects."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.models.model import Finish
from tjbench.runner.attempt import Attempt
from tjbench.scoring.json_answer import MAX_TEXT, find_json, lacks, score_json
from tjbench.scoring.score import Cause, Score
from tjbench.scoring.scorer import score_attempt
from tjbench.suites.task import JsonCheck, Message, Task

CITY = {"city": "Oslo", "n": 3}


def subset(expected: object) -> JsonCheck:
    return JsonCheck(mode="subset", expected=json.dumps(expected))


FOUND: dict[str, object] = {
    # the whole answer
    '{"city": "Oslo", "n": 3}': CITY,
    '\n {"city": "Oslo",\n "n": 3}\n': CITY,
    "[1, 2]": [1, 2],
    "[]": [],
    # in prose
    'Here it is: {"city": "Oslo", "n": 3}. Good luck!': CITY,
    'It is {not JSON} but {"city": "Oslo", "n": 3}': CITY,
    "{see below} [1, 2]": [1, 2],
    'The keys [city, n] make {"city": "Oslo", "n": 3}': CITY,
    "Given [1, 2, and more], I say [3]": [3],
    'First {"city": "Rome"}, no: {"city": "Oslo", "n": 3}': CITY,
    # in fences
    '```json\n{"city": "Oslo", "n": 3}\n```': CITY,
    '~~~\n{"city": "Oslo", "n": 3}\n~~~': CITY,
    '```json\r\n{"city": "Oslo",\r\n "n": 3}\r\n```': CITY,
    'Draft:\n```json\n{"city": "Rome"}\n```\nFinal:\n```json\n{"city": "Oslo", "n": 3}\n```': CITY,
    '```json\n{"city": "Oslo", "n": 3}\n```\nAn empty answer would be {}.': CITY,
    '```js\nconst answer = {"city": "Oslo", "n": 3};\n```': CITY,
    '```json\n{"city": "Oslo", "n": 3}': CITY,
    '- item:\n  ```json\n  {"city": "Oslo", "n": 3}\n  ```': CITY,
    # thoughts first
    '<think>{"city": "Rome"}</think>{"city": "Oslo", "n": 3}': CITY,
    # text that looks like a bracket
    '{"a": "}{][", "b": [1]}': {"a": "}{][", "b": [1]},
}
NOT_FOUND = {
    "": "empty",
    "no idea": "prose",
    "{city: Oslo}": "no quotes",
    "{'city': 'Oslo'}": "Python's quotes",
    '{"city": "Oslo",}': "a comma too many",
    '{"city": {"name": "Oslo"},}': "the inner object of a broken one",
    '{"city": {"name": "Oslo"}': "the inner object of one cut off",
    '["a", {"b": 1}, "cut': "an element of a list cut off",
    "[" * 100_000: "endless nesting",
    '{"a":' * 100_000: "endless nesting of objects",
    '{"a": ' + "9" * 5000 + "}": "a number of more digits than are read",
}


@pytest.mark.parametrize("answer", FOUND)
def test_the_json_is_the_one_a_reader_takes(answer: str) -> None:
    found = find_json(answer)
    assert found is not None
    assert (found.value, found.problem) == (FOUND[answer], "")


@pytest.mark.parametrize("answer", NOT_FOUND, ids=NOT_FOUND.values())
def test_what_cannot_be_read_whole_is_no_answer(answer: str) -> None:
    assert find_json(answer) is None
    assert score_json(answer, subset({"a": 1})).cause is Cause.NO_ANSWER


def test_of_several_the_last_of_the_expected_kind_counts() -> None:
    text = 'It is {"city": "Oslo"} [1]'
    assert score_json(text, subset({"city": "Oslo"})).passed is True
    assert score_json(text, subset([1])).passed is True
    assert score_json('```json\n[1]\n```\nor {"a": 1}', subset({"a": 1})).passed is True


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_value_is_a_wrong_answer_that_says_so(value: str) -> None:
    score = score_json(f'{{"a": {value}, "b": 1}}', subset({"b": 1}))
    assert (score.passed, score.cause) == (False, Cause.WRONG_ANSWER)
    assert f"{value} is no JSON value" in score.detail


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": 2, "a": 1}', '[{"a": {"b": 1, "b": 2}}]'])
def test_a_key_that_is_there_twice_is_a_wrong_answer_that_says_so(text: str) -> None:
    score = score_json(text, subset({"a": 1} if text[0] == "{" else [{"a": {"b": 2}}]))
    assert (score.passed, score.cause) == (False, Cause.WRONG_ANSWER)
    assert "is there twice" in score.detail


PASSES: list[tuple[object, str]] = [
    ({"a": 1}, '{"a": 1, "b": 2}'),
    ({"a": {"b": 1}}, '{"a": {"b": 1, "c": 2}, "d": 3}'),
    ({"a": [1, {"b": 2}]}, '{"a": [1, {"b": 2, "c": 3}]}'),
    ({"a": 1}, '{"a": 1.0}'),
    ({"a": 0.1}, '{"a": 0.10}'),
    ({"a": 1e3}, '{"a": 1000}'),
    ({"a": None}, '{"a": null}'),
    ({"a": True}, '{"a": true}'),
    ({"a": "\u00e9"}, '{"a": "\\u00e9"}'),
    ([], "[]"),
]
FAILS: list[tuple[object, str, str]] = [
    ({"a": 1}, '{"b": 1}', "a is missing"),
    ({"a": {"b": 1}}, '{"a": {}}', "a.b is missing"),
    ({"a": {"b": 1}}, '{"a": 1}', "a is not an object"),
    ({"a": [1, 2]}, '{"a": [1]}', "a is not a list of 2"),
    ({"a": [1, 2]}, '{"a": [2, 1]}', "a[0]: expected 1, got 2"),
    ({"a": 1}, '{"a": "1"}', 'a: expected 1, got "1"'),
    ({"a": "1"}, '{"a": 1}', 'a: expected "1", got 1'),
    ({"a": 1}, '{"a": true}', "a: expected 1, got true"),
    ({"a": True}, '{"a": 1}', "a: expected true, got 1"),
    ({"a": 0}, '{"a": false}', "a: expected 0, got false"),
    ({"a": None}, '{"a": 0}', "a: expected null, got 0"),
    ({"a": 11}, '{"a": 711}', "a: expected 11, got 711"),
    ({"a": "Oslo"}, '{"a": "oslo"}', 'a: expected "Oslo", got "oslo"'),
    ({"a": 1}, "[1]", "the JSON is not an object"),
    ([1], '{"a": 1}', "the JSON is not a list of 1"),
]


@pytest.mark.parametrize(("expected", "answer"), PASSES)
def test_an_answer_may_hold_more_and_values_are_equal_however_they_are_written(expected: object, answer: str) -> None:
    assert score_json(answer, subset(expected)).passed is True


@pytest.mark.parametrize(("expected", "answer", "detail"), FAILS)
def test_what_is_missing_or_other_is_named(expected: object, answer: str, detail: str) -> None:
    assert score_json(answer, subset(expected)) == Score(passed=False, cause=Cause.WRONG_ANSWER, detail=detail)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=3), st.text(alphabet="abc \n", max_size=20))
def test_any_object_is_found_in_prose_and_holds_itself(value: dict[str, Any], prose: str) -> None:
    for text in (json.dumps(value), f"{prose}{json.dumps(value, indent=2)}{prose}"):
        found = find_json(text, dict)
        assert found is not None
        assert found.value == value
        assert lacks(found.value, value) == ""


@given(st.text(max_size=300))
def test_no_text_makes_the_search_fail(text: str) -> None:
    score_json(text, subset({"a": 1}))
    score_json(f'```json\n{text}\n```{{"a', subset([1]))


HOSTILE = {
    "open brackets in strings": '["' * 250_000,
    "braces": "{" * MAX_TEXT,
    "closed": "{}" * 400_000,
    "almost": '{"a":1,' * 140_000,
    "quotes": '"' * MAX_TEXT,
    "backslashes": '["' + "\\" * 900_000,
    "fences": "```json\n{\n" * 90_000,
    "exponent": '{"a": 1e' + "9" * 100_000 + "}",
    "digits": "[" + "9" * 900_000 + "]",
    "broken values": "[1,2,x]" * 140_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers_are_read_in_bounded_time(kind: str) -> None:
    start = time.process_time()
    score_json(HOSTILE[kind], subset({"a": 1}))
    assert time.process_time() - start < 10


def test_an_answer_too_long_to_read_is_unscored() -> None:
    assert score_json(" " * (MAX_TEXT + 1), subset({"a": 1})).cause is Cause.HARNESS


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"a": 2}', Cause.WRONG_ANSWER),
        ('{"a": 2}\nThat is because', Cause.WRONG_ANSWER),
        ('{"a": 2}\nOr rather {"a": ', Cause.TRUNCATED),
        ('{"b": {"a": 2}, "c', Cause.TRUNCATED),
        ("It is", Cause.TRUNCATED),
        ('{"a": 1}\nThat is because', None),
    ],
)
def test_a_cut_answer_counts_only_when_a_whole_one_precedes_the_cut(text: str, cause: Cause | None) -> None:
    task = Task(id="t", messages=(Message(role="user", content="q"),), check=subset({"a": 1}))
    attempt = Attempt(task_id="t", sample=0, text=text, finish=Finish.LENGTH)
    assert score_attempt(task, attempt, None).cause is cause
