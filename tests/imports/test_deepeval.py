"""DeepEval's test runs: a case's own success decides, and a metric that broke decides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.foreign import deepeval, deepeval_case, write
from tjbench.errors import UsageError
from tjbench.imports.deepeval import read
from tjbench.imports.outcome import Choice, Results


def of(directory: Path, document: object, choice: Choice | None = None) -> Results:
    return read([write(directory / "run.json", document)], choice or Choice())


def test_outcomes_with_dollars_and_seconds(tmp_path: Path) -> None:
    results = of(tmp_path, deepeval("pfu"))
    assert [(o.task_id, o.passed, o.cause, o.detail) for o in results.outcomes] == [
        ("sum-0", True, None, ""),
        ("sum-1", False, "failed", "wrong"),
        ("sum-2", None, "error", "RuntimeError: judge down"),
    ]
    first = results.outcomes[0]
    assert (first.cost_usd, first.latency_s, first.input_tokens, first.suite) == (0.003, 1.5, None, None)
    assert first.where == f"{tmp_path / 'run.json'}: testCases[0]"
    assert (results.models, results.temperature) == ({"openai:big": ("openai:big",)}, 0.5)
    assert results.judge == "gpt-4.1"


def test_the_latest_run_holds_the_same_a_level_deeper(tmp_path: Path) -> None:
    run = deepeval("pf")
    flat, deep = of(tmp_path, run), of(tmp_path, {"testRunData": run, "testRunLink": None})
    assert flat == deep


def test_a_run_that_names_no_model_is_a_model_without_a_name(tmp_path: Path) -> None:
    assert of(tmp_path, deepeval("p", model=None)).models == {str(tmp_path / "run.json"): ()}


@pytest.mark.parametrize("key", ["model", "Model", "model_name", "LLM"])
def test_the_model_is_a_hyperparameter(tmp_path: Path, key: str) -> None:
    document = deepeval("p", hyperparameters={"chunk": "5", key: "openai:big"})
    assert list(of(tmp_path, document).models) == ["openai:big"]


def test_the_suite_is_the_dataset_or_the_test_file(tmp_path: Path) -> None:
    assert of(tmp_path, deepeval("p", testFile="tests/test_sums.py")).outcomes[0].suite == "test_sums"
    both = deepeval("p", testFile="tests/test_sums.py", datasetAlias="sums")
    assert of(tmp_path, both).outcomes[0].suite == "sums"


def test_cases_of_one_name_are_told_by_what_they_ask_and_repeats_are_samples(tmp_path: Path) -> None:
    asked = ("1+1", "2+2", "1+1")
    cases = [deepeval_case(0, "p", name="test_sums", input=text) for text in asked]
    first, second, again = of(tmp_path, deepeval("", testCases=cases)).outcomes
    assert first.task_id.startswith("test_sums [")
    assert (first.task_id, first.sample) == (again.task_id, "0")
    assert again.sample == "1"
    assert second.task_id != first.task_id


def test_a_run_that_repeats_its_cases_has_samples_of_them(tmp_path: Path) -> None:
    named = [("test_sum[0-1-2]", "0"), ("test_sum[0-2-2]", "0"), ("test_sum[3-4]", "1"), ("test_a[1-2]", "2")]
    named += [("test_a[2-2]", "2")]
    cases = [deepeval_case(0, "p", name=name, input=text) for name, text in named]
    assert [(o.task_id, o.sample) for o in of(tmp_path, deepeval("", testCases=cases)).outcomes] == [
        ("test_sum[0]", "0"),
        ("test_sum[0]", "1"),
        ("test_sum[3-4]", "0"),  # a parameter of its own, and no third turn of four
        ("test_a", "0"),
        ("test_a", "1"),
    ]


def test_tokens_are_read_where_a_run_has_them(tmp_path: Path) -> None:
    case = deepeval_case(0, "p", inputTokenCount=12, outputTokenCount=3)
    (outcome,) = of(tmp_path, deepeval("", testCases=[case])).outcomes
    assert (outcome.input_tokens, outcome.output_tokens) == (12, 3)


def test_conversations_count_too(tmp_path: Path) -> None:
    case = {"name": "chat", "success": True, "metricsData": [{"name": "Role", "success": True}], "turns": []}
    (outcome,) = of(tmp_path, deepeval("", conversationalTestCases=[case])).outcomes
    assert (outcome.task_id, outcome.passed) == ("chat", True)
    assert outcome.where.endswith("conversationalTestCases[0]")


def test_one_metric_can_be_chosen(tmp_path: Path) -> None:
    metrics = [{"name": "Correctness", "success": False, "reason": "wrong"}, {"name": "Tone", "success": True}]
    document = deepeval("", testCases=[deepeval_case(0, "f", metricsData=metrics)])
    whole, tone = of(tmp_path, document), of(tmp_path, document, Choice(metric="Tone"))
    assert (whole.outcomes[0].passed, tone.outcomes[0].passed) == (False, True)
    assert whole.outcomes[0].check != tone.outcomes[0].check
    with pytest.raises(UsageError, match=r"testCases\[0\]: no metric 'Wit'") as caught:
        of(tmp_path, document, Choice(metric="Wit"))
    assert caught.value.why == "there are Correctness, Tone"


def test_a_flaky_metric_decides_nothing_and_a_case_without_metrics_proves_nothing(tmp_path: Path) -> None:
    metrics = [{"name": "Correctness", "success": True}, {"name": "Odd", "error": "x", "success": False, "flaky": True}]
    cases = [deepeval_case(0, "p", metricsData=metrics), deepeval_case(1, "p", metricsData=[])]
    first, second = of(tmp_path, deepeval("", testCases=cases)).outcomes
    assert (first.passed, second.passed, second.cause) == (True, None, "no_metric")


@pytest.mark.parametrize(
    ("document", "what", "why"),
    [
        ("{}{}", "is not JSON", "line 1, column 3"),
        ({}, "is not what deepeval writes", "testCases: Field required"),
        (deepeval("", testCases=[{"input": "x"}]), "is not what deepeval writes", "testCases[0].name: Field required"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, document: object, what: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(tmp_path, document)
    assert caught.value.what == f"{tmp_path / 'run.json'} {what}"
    assert why in caught.value.why
