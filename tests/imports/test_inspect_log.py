"""Logs of Inspect in both formats: one score decides, and a sample's own model pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.foreign import ARCHIVE, inspect_eval, inspect_header, inspect_json, inspect_sample, write
from tjbench.errors import UsageError
from tjbench.imports.inspect_log import read
from tjbench.imports.outcome import Choice, Outcome, Results


def of(directory: Path, document: object, choice: Choice | None = None) -> Results:
    return read([write(directory / "log.json", document)], choice or Choice())


def scored(directory: Path, value: object, choice: Choice | None = None) -> Outcome:
    sample = inspect_sample(1, "p", scores={"match": {"value": value}})
    (outcome,) = of(directory, {**inspect_header(), "samples": [sample]}, choice).outcomes
    return outcome


def test_both_formats_hold_the_same(tmp_path: Path) -> None:
    samples = [inspect_sample(i, mark) for i, mark in enumerate("pfu")]
    text = of(tmp_path, {**inspect_header(), "samples": samples})
    archive = read([inspect_eval(tmp_path / "log.eval", inspect_header(), samples)], Choice())

    def comparable(results: Results) -> list[dict[str, Any]]:
        return [{name: getattr(o, name) for name in o.__slots__ if name != "where"} for o in results.outcomes]

    assert comparable(text) == comparable(archive)
    assert (text.models, text.tool_version) == (archive.models, archive.tool_version)
    assert archive.outcomes[0].where == f"{tmp_path / 'log.eval'}: samples/s0_epoch_1.json"


def test_outcomes_with_the_tokens_of_the_model_and_not_of_its_judge(tmp_path: Path) -> None:
    results = of(tmp_path, inspect_json("pfu"))
    passed, failed, broken = results.outcomes
    assert (passed.task_id, passed.sample, passed.passed, passed.detail) == ("s0", "1", True, "")
    assert (passed.input_tokens, passed.output_tokens, passed.cache_read_tokens) == (10, 4, 5)
    assert (passed.cost_usd, passed.latency_s) == (None, 1.5)
    assert (failed.passed, failed.cause, failed.detail) == (False, "failed", "two")
    assert (broken.passed, broken.cause, broken.detail) == (None, "error", "connection lost")
    assert results.models == {"openai/big": ("openai:big",)}
    assert (results.temperature, results.max_tokens, results.tool_version) == (0.5, 77, "0.3.285")
    assert results.notes == ("sums: score match decides; others: includes",)


def test_another_score_can_be_chosen(tmp_path: Path) -> None:
    results = of(tmp_path, inspect_json("pf"), Choice(metric="includes"))
    assert [o.passed for o in results.outcomes] == [True, True]
    with pytest.raises(UsageError, match=r"samples\[0\]: no score 'f1'") as caught:
        of(tmp_path, inspect_json("pf"), Choice(metric="f1"))
    assert caught.value.why == "the scores are match, includes"


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        ("C", True),
        ("I", False),
        ("N", False),
        (True, True),
        (False, False),
        (1, True),
        (0.0, False),
        ("yes", True),
        ("No", False),
        ("1.0", True),
        (float("nan"), None),
    ],
)
def test_a_score_is_read_as_inspect_reads_it(tmp_path: Path, value: object, passed: bool | None) -> None:
    assert scored(tmp_path, value).passed is passed


@pytest.mark.parametrize(("value", "passed"), [("P", True), (0.7, True), (0.4, False), (1, True)])
def test_between_pass_and_fail_the_threshold_decides(tmp_path: Path, value: object, passed: bool) -> None:
    assert scored(tmp_path, value, Choice(threshold=0.5)).passed is passed
    if value != 1:
        with pytest.raises(UsageError, match="neither a pass") as caught:
            scored(tmp_path, value)
        assert "--threshold" in caught.value.fix


@pytest.mark.parametrize("value", ["excellent", [1, 0], None])
def test_a_score_that_is_no_number_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(UsageError, match=r"samples\[0\]: match is"):
        scored(tmp_path, value)


def test_parts_of_a_score_have_names_of_their_own(tmp_path: Path) -> None:
    sample = inspect_sample(1, "p", scores={"quality": {"value": {"right": 1, "polite": 0}}})
    header = inspect_header(results=None)
    (first,) = of(tmp_path, {**header, "samples": [sample]}).outcomes
    (second,) = of(tmp_path, {**header, "samples": [sample]}, Choice(metric="quality/polite")).outcomes
    assert (first.passed, second.passed) == (True, False)
    assert first.check != second.check


def test_epochs_are_samples_and_dollars_are_taken_where_they_are_stated(tmp_path: Path) -> None:
    usage = {"openai/big": {"input_tokens": 1, "output_tokens": 1, "total_cost": 0.25}}
    samples = [inspect_sample(1, "p", epoch=epoch, model_usage=usage) for epoch in (1, 2)]
    results = of(tmp_path, {**inspect_header(), "samples": samples})
    assert [(o.task_id, o.sample, o.cost_usd) for o in results.outcomes] == [("s1", "1", 0.25), ("s1", "2", 0.25)]


def test_messages_are_the_same_prompt_whatever_their_ids(tmp_path: Path) -> None:
    def prompt(message_id: str, content: str) -> str | None:
        messages = [{"id": message_id, "role": "user", "content": content}]
        sample = inspect_sample(1, "p", input=messages)
        (outcome,) = of(tmp_path, {**inspect_header(), "samples": [sample]}).outcomes
        return outcome.prompt

    assert prompt("a", "1+1?") == prompt("b", "1+1?") != prompt("a", "2+2?")


def test_a_graders_score_names_a_judge(tmp_path: Path) -> None:
    graded = {"scores": [{"name": "grade", "scorer": "model_graded_qa"}], "headline": None}
    sample = inspect_sample(1, "p", scores={"grade": {"value": "C"}})
    assert of(tmp_path, {**inspect_header(results=graded), "samples": [sample]}).judge == "inspect grade"


def test_a_run_that_was_cut_short_is_said(tmp_path: Path) -> None:
    results = read([inspect_eval(tmp_path / "log.eval", None, [inspect_sample(0, "p")])], Choice())
    assert len(results.outcomes) == 1
    assert results.notes[0] == "log.eval: the evaluation ended as 'started'"


def damaged(path: Path) -> Path:
    inspect_eval(path, inspect_header(), [inspect_sample(i, "p") for i in range(3)])
    content = bytearray(path.read_bytes())
    at = content.index(b"samples/s1")
    content[at + 30 : at + 60] = bytes(30)
    path.write_bytes(content)
    return path


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.eval"):
        read([tmp_path / "absent.eval"], Choice())
    with pytest.raises(UsageError, match=r"x\.eval is not a log of Inspect"):
        read([write(tmp_path / "x.eval", "no archive")], Choice())
    with pytest.raises(UsageError, match=r"d\.eval is not a log of Inspect") as caught:
        read([damaged(tmp_path / "d.eval")], Choice())
    assert "cannot be unpacked" in caught.value.why
    with ARCHIVE.ZipFile(tmp_path / "e.eval", "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(UsageError) as caught:
        read([tmp_path / "e.eval"], Choice())
    assert caught.value.why == "it holds no header.json"


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    text = inspect_sample(0, "f", id="a", scores={"match": {"value": "I", "explanation": "cut \ud83d"}})
    (outcome,) = of(tmp_path, {**inspect_header(), "samples": [text]}).outcomes
    assert outcome.detail == "cut ?"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({**inspect_header(), "samples": 3}, "samples: "),
        (
            {**inspect_header(), "samples": [inspect_sample(0, "p", model_usage={"m": {"input_tokens": -1}})]},
            "model_usage.m.input_tokens: ",
        ),
        ({"status": "success"}, "eval: Field required"),
        ({**inspect_header(), "samples": [{"epoch": 1}]}, "id"),
        ({**inspect_header(), "samples": [{"id": 0, "epoch": "first"}]}, "epoch: "),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, document: object, why: str) -> None:
    with pytest.raises(UsageError, match=r"log\.json.* is not what inspect writes") as caught:
        of(tmp_path, document)
    assert why in caught.value.why
