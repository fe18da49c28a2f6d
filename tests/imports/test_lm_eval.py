"""Samples of the harness with the results of their run: which model answered, and what decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.foreign import DATE, lm_eval, lm_eval_sample, write
from tjbench.errors import UsageError
from tjbench.imports.lm_eval import read
from tjbench.imports.outcome import Choice, Results

NOT_DECIDING = "sums: metric exact_match,strict decides; others: exact_match,loose"


def of(directory: Path, *samples: dict[str, object], choice: Choice | None = None) -> Results:
    path, _ = lm_eval(directory, "p")
    write(path, "\n".join(json.dumps(sample) for sample in samples))
    return read([path], choice or Choice())


def test_the_first_filter_decides_and_tokens_are_unknown(tmp_path: Path) -> None:
    samples, results = lm_eval(tmp_path, "pf")
    found = read([samples, results], Choice())
    assert [(o.task_id, o.suite, o.passed, o.cause) for o in found.outcomes] == [
        ("sums/0", "sums", True, None),
        ("sums/1", "sums", False, "failed"),
    ]
    assert {(o.input_tokens, o.output_tokens, o.cost_usd) for o in found.outcomes} == {(None, None, None)}
    assert found.outcomes[0].prompt == f"{16:064x}"[:16]
    assert found.outcomes[1].where == f"{samples}, line 2"
    assert found.notes == (NOT_DECIDING,)
    assert (found.tool_version, found.temperature, found.max_tokens) == ("0.4.13", 0.0, 256)
    assert f"{found.measured_at:%Y-%m-%d}" == "2026-03-04"


@pytest.mark.parametrize("named", ["samples", "results", "both", "twice"])
def test_a_run_is_whole_whichever_of_its_files_is_named(tmp_path: Path, named: str) -> None:
    samples, results = lm_eval(tmp_path, "pf")
    paths = {"samples": [samples], "results": [results], "both": [results, samples], "twice": [samples, samples]}
    assert len(read(paths[named], Choice()).outcomes) == 2


def test_two_runs_of_the_same_date_keep_their_models(tmp_path: Path) -> None:
    big, big_results = lm_eval(tmp_path, "p", model="big")
    small, small_results = lm_eval(tmp_path, "f", model="small")
    found = read([big, small, small_results, big_results], Choice())
    assert [(o.model, o.passed) for o in found.outcomes] == [
        ("openai-chat-completions:big", True),
        ("openai-chat-completions:small", False),
    ]
    assert found.models["openai-chat-completions:big"] == ("openai:big", "openai-chat-completions:big")


def test_a_local_model_goes_by_what_was_loaded(tmp_path: Path) -> None:
    samples, results = lm_eval(tmp_path, "p", source="hf")
    document = json.loads(results.read_text())
    document["config"]["model_args"] = "pretrained=EleutherAI/pythia-70m,dtype=float"
    write(results, document)
    assert read([samples], Choice()).models == {"hf:EleutherAI/pythia-70m": ("hf:EleutherAI/pythia-70m",)}


def test_another_metric_or_filter_can_be_chosen(tmp_path: Path) -> None:
    samples, _ = lm_eval(tmp_path, "pf")
    chosen = read([samples], Choice(metric="exact_match,loose"))
    assert [o.passed for o in chosen.outcomes] == [True, True]
    assert chosen.outcomes[0].check != read([samples], Choice()).outcomes[0].check
    with pytest.raises(UsageError, match="no filter 'lenient'") as caught:
        read([samples], Choice(metric="exact_match,lenient"))
    assert caught.value.why == "there are exact_match,strict, exact_match,loose"
    with pytest.raises(UsageError, match="line 1: no metric 'acc'"):
        read([samples], Choice(metric="acc"))


def test_older_samples_do_not_list_their_metrics(tmp_path: Path) -> None:
    sample = lm_eval_sample(0, 1.0)
    del sample["metrics"]
    assert [o.passed for o in of(tmp_path, sample).outcomes] == [True]


def test_a_share_needs_a_threshold(tmp_path: Path) -> None:
    half = lm_eval_sample(0, 0.5)
    with pytest.raises(UsageError, match=r"line 1: exact_match is 0\.5, neither"):
        of(tmp_path, half)
    assert [o.passed for o in of(tmp_path, half, choice=Choice(threshold=0.5)).outcomes] == [True]


def test_samples_without_the_results_of_their_run_are_refused(tmp_path: Path) -> None:
    samples, results = lm_eval(tmp_path, "p")
    results.unlink()
    with pytest.raises(UsageError, match="does not say which model answered") as caught:
        read([samples], Choice())
    assert "name that file too" in caught.value.fix


def test_results_without_samples_are_refused(tmp_path: Path) -> None:
    samples, results = lm_eval(tmp_path, "p")
    samples.unlink()
    with pytest.raises(UsageError, match="has no samples beside it") as caught:
        read([results], Choice())
    assert "--log_samples" in caught.value.fix


def test_renamed_files_are_one_run_where_they_lie_together(tmp_path: Path) -> None:
    samples, results = lm_eval(tmp_path, "p")
    renamed = samples.rename(samples.with_name("samples_sums.jsonl")), results.rename(results.with_name("r.json"))
    found = read(renamed, Choice())
    assert (list(found.models), found.outcomes[0].suite) == (["openai-chat-completions:big"], "sums")


@pytest.mark.parametrize(
    ("line", "what", "why"),
    [
        ("{", "line 1 is not JSON", "column 2"),
        ("[]", "line 1 is not what lm-eval writes", ""),
        ('{"filter": "none"}', "line 1 is not what lm-eval writes", "doc_id: Field required"),
        (json.dumps(lm_eval_sample(0, [1, 2])), "line 1: exact_match is [1, 2]", "by a number from 0 to 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, what: str, why: str) -> None:
    samples, _ = lm_eval(tmp_path, "p")
    write(samples, line)
    with pytest.raises(UsageError) as caught:
        read([samples], Choice())
    assert f"samples_sums_{DATE}.jsonl, {what}" in caught.value.what
    assert why in caught.value.why
