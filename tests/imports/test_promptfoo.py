"""promptfoo's results: outcomes, tokens and dollars as its assertions and providers leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.foreign import promptfoo, promptfoo_result, write
from tjbench.errors import UsageError
from tjbench.imports.outcome import Choice, Results
from tjbench.imports.promptfoo import read

BIG, SMALL = "openai:chat:big", "openai:small"


def of(directory: Path, document: object) -> Results:
    return read([write(directory / "results.json", document)], Choice())


def one(directory: Path, **changes: Any) -> Any:
    document = promptfoo({BIG: "p"})
    document["results"]["results"] = [promptfoo_result(BIG, 0, "p", test=0, **changes)]
    (outcome,) = of(directory, document).outcomes
    return outcome


def test_outcomes_with_tokens_dollars_and_seconds(tmp_path: Path) -> None:
    results = of(tmp_path, promptfoo({BIG: "pf", SMALL: "up"}))
    found = [(o.task_id, o.model, o.passed, o.cause) for o in results.outcomes]
    assert found == [
        ("test 1", BIG, True, None),
        ("test 1", SMALL, None, "error"),
        ("test 2", BIG, False, "failed"),
        ("test 2", SMALL, True, None),
    ]
    first, unjudged, failed, _ = results.outcomes
    assert (first.input_tokens, first.output_tokens, first.cost_usd, first.latency_s) == (10, 4, 0.002, 1.5)
    assert (unjudged.input_tokens, unjudged.cost_usd, unjudged.detail) == (None, None, "API error: 500")
    assert failed.detail == 'Expected output to equal "2"'
    assert (results.tool_version, first.suite) == ("0.121.20", "sums")
    assert f"{results.measured_at:%Y-%m-%dT%H:%M}" == "2026-03-04T05:06"


def test_a_model_goes_by_its_id_with_and_without_its_interface_and_by_its_label(tmp_path: Path) -> None:
    document = promptfoo({BIG: "p", SMALL: "p", "bedrock:us.anthropic.x:0": "p"})
    document["results"]["results"][1]["provider"]["label"] = "the small one"
    assert of(tmp_path, document).models == {
        BIG: (BIG, "openai:big"),
        "the small one": ("the small one", SMALL),
        "bedrock:us.anthropic.x:0": ("bedrock:us.anthropic.x:0",),
    }


def test_repeats_are_samples_of_one_task(tmp_path: Path) -> None:
    results = of(tmp_path, promptfoo({BIG: "pfpp"}, repeat=2))
    assert [(o.task_id, o.sample, o.passed) for o in results.outcomes] == [
        ("test 1", "0", True),
        ("test 1", "1", False),
        ("test 2", "0", True),
        ("test 2", "1", True),
    ]


def test_a_description_names_a_test_where_it_is_its_own(tmp_path: Path) -> None:
    document = promptfoo({BIG: "ppp"})
    for result, text in zip(document["results"]["results"], ("one", "same", "same"), strict=True):
        result["testCase"]["description"] = text
    assert [o.task_id for o in of(tmp_path, document).outcomes] == ["one", "same 2", "same 3"]


def test_two_prompts_make_two_tasks_of_a_test(tmp_path: Path) -> None:
    document = promptfoo({BIG: "pp"})
    document["results"]["results"][1] |= {"testIdx": 0, "prompt": {"raw": "0+0=", "label": "{{q}}="}}
    assert [o.task_id for o in of(tmp_path, document).outcomes] == ["test 1 [prompt 1]", "test 1 [prompt 2]"]


def test_cached_tokens_are_not_counted_twice(tmp_path: Path) -> None:
    details = {"cacheReadInputTokens": 6, "cacheCreationInputTokens": 1}
    usage = {"prompt": 10, "completion": 4, "total": 14, "completionDetails": details}
    found = one(tmp_path, response={"output": "2", "tokenUsage": usage})
    assert (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens) == (3, 6, 1)


def test_an_answer_from_promptfoos_cache_tells_no_tokens(tmp_path: Path) -> None:
    found = one(tmp_path, response={"output": "2", "tokenUsage": {"cached": 14, "total": 14}}, cost=0)
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (None, None, None)


def test_a_test_that_checks_nothing_proves_nothing(tmp_path: Path) -> None:
    grading = {"pass": True, "score": 1, "reason": "No assertions"}
    found = one(tmp_path, gradingResult=grading, testCase={"vars": {}, "assert": []})
    assert (found.passed, found.cause) == (None, "no_assertion")


def test_a_check_changes_with_its_assertions_and_with_variables_that_they_use(tmp_path: Path) -> None:
    def check(value: str, **variables: str) -> str:
        case = {"vars": variables, "assert": [{"type": "equals", "value": value}]}
        found = one(tmp_path, testCase=case).check
        assert isinstance(found, str)
        return found

    assert check("2", q="1") == check("2", q="2") != check("3", q="1")
    assert check("{{a}}", a="1") != check("{{a}}", a="2")


def test_model_graded_assertions_name_a_judge(tmp_path: Path) -> None:
    document = promptfoo({BIG: "p"})
    document["results"]["results"][0]["testCase"]["assert"] = [{"type": "not-llm-rubric", "value": "rude"}]
    assert of(tmp_path, document).judge == "promptfoo llm-rubric"


@pytest.mark.parametrize(
    ("document", "what", "why"),
    [
        ("{", "is not JSON", "line 1, column 2"),
        ([], "is not what promptfoo writes", ""),
        ({"results": {}}, "is not what promptfoo writes", "results.results: Field required"),
        ({"results": {"results": [{"success": True}]}}, "is not what promptfoo writes", "results.results[0].provider"),
        (
            {"results": {"results": [promptfoo_result(BIG, 0, "p", test=0, success="perhaps")]}},
            "is not what promptfoo writes",
            "results.results[0].success",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, document: object, what: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(tmp_path, document)
    assert caught.value.what == f"{tmp_path / 'results.json'} {what}"
    assert why in caught.value.why
