"""Two models' outcomes as tasks: what is missing is unscored, and only what all samples tell is added up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.artifacts import AT
from tjbench.config import ModelSpec
from tjbench.errors import UsageError
from tjbench.imports.outcome import Outcome
from tjbench.imports.pairing import Basis, Paired, find_model, pair_outcomes, rates_for
from tjbench.pricing import Rates

OPEN = {"gpt": ("openai:gpt", "gpt")}


def outcomes(model: str, marks: str, **told: Any) -> list[Outcome]:
    passed = {"p": True, "f": False, "u": None}
    return [
        Outcome(model=model, task_id=f"t{i}", passed=passed[mark], cause=None, where=f"{model} {i}", **told)
        for i, mark in enumerate(marks)
        if mark != "-"
    ]


def paired(original: str, candidate: str, told: dict[str, Any], told_too: dict[str, Any] | None = None) -> Paired:
    return pair_outcomes(
        outcomes("a:x", original, **told), outcomes("a:y", candidate, **(told if told_too is None else told_too))
    )


def test_tasks_pair_by_id() -> None:
    found = pair_outcomes(outcomes("a:x", "pf"), reversed(outcomes("a:y", "fp")))
    assert [(t.task_id, t.original.passes, t.candidate.passes) for t in found.tasks] == [("t0", 1, 0), ("t1", 0, 1)]
    assert (found.samples, found.lacking) == (1, 0)
    assert {t.check_hash for t in found.tasks} == {t.prompt_hash for t in found.tasks} == {"unknown"}


def test_what_only_one_model_has_is_unscored_on_the_other() -> None:
    found = paired("pp-", "p-p", {})
    assert [(t.task_id, t.original.unscored, t.candidate.unscored) for t in found.tasks] == [
        ("t0", 0, 0),
        ("t1", 0, 1),
        ("t2", 1, 0),
    ]
    assert found.tasks[1].candidate.cause == found.tasks[2].original.cause == "not_in_file"
    assert found.lacking == 2


def test_samples_of_a_task_add_up_and_a_missing_one_is_unscored() -> None:
    def sampled(model: str, *marks: str) -> list[Outcome]:
        return [o for i, found in enumerate(marks) for o in outcomes(model, found, sample=str(i))]

    found = pair_outcomes(sampled("a:x", "pp", "fp"), sampled("a:y", "pp", "p-"))
    assert found.samples == 2
    assert [(t.original.passes, t.candidate.passes, t.candidate.unscored) for t in found.tasks] == [
        (1, 2, 0),
        (2, 1, 1),
    ]
    with pytest.raises(UsageError, match="the original has 2 samples a task and the candidate 1"):
        pair_outcomes(sampled("a:x", "p", "p"), sampled("a:y", "p"))


def test_the_same_sample_twice_is_refused_with_both_places() -> None:
    twice = [*outcomes("a:x", "p"), *outcomes("a:x", "p")]
    with pytest.raises(UsageError, match="a:x 0: task 't0' of a:x was there before") as caught:
        pair_outcomes(twice, outcomes("a:y", "p"))
    assert caught.value.why == "the same sample stands at a:x 0"


def test_a_task_is_checked_by_the_same_on_both_sides() -> None:
    assert paired("p", "p", {"check": "c"}).tasks[0].check_hash == "c"
    with pytest.raises(UsageError, match="a:y 0: task 't0' is checked by something else than at a:x 0"):
        paired("p", "p", {"check": "c"}, {"check": "d"})


def test_a_task_that_is_shown_in_two_ways_has_a_name_for_both() -> None:
    same, other = paired("p", "p", {"prompt": "x"}), paired("p", "p", {"prompt": "x"}, {"prompt": "y"})
    assert same.tasks[0].prompt_hash == "x"
    assert other.tasks[0].prompt_hash == paired("p", "p", {"prompt": "y"}, {"prompt": "x"}).tasks[0].prompt_hash != "x"


TOKENS = {"input_tokens": 10, "output_tokens": 4, "cache_read_tokens": 3}


@pytest.mark.parametrize(
    ("told", "told_too", "basis", "usage", "cost"),
    [
        ({"cost_usd": 0.5}, {"cost_usd": 0.1}, Basis.STATED, (0, 0, 0), 0.5),
        (TOKENS | {"cost_usd": 0.5}, TOKENS | {"cost_usd": 0.1}, Basis.STATED, (10, 4, 3), 0.5),
        (TOKENS, TOKENS, Basis.TOKENS, (10, 4, 3), None),
        (TOKENS | {"cost_usd": 0.5}, TOKENS, Basis.TOKENS, (10, 4, 3), None),
        (TOKENS, {}, Basis.NONE, (0, 0, 0), None),
        ({"cost_usd": 0.5}, TOKENS, Basis.NONE, (0, 0, 0), None),
        ({"output_tokens": 4}, {"output_tokens": 9}, Basis.NONE, (0, 4, 0), None),
        ({}, {}, Basis.NONE, (0, 0, 0), None),
    ],
)
def test_only_what_every_sample_of_both_models_tells_is_kept(
    told: dict[str, Any], told_too: dict[str, Any], basis: Basis, usage: tuple[int, int, int], cost: float | None
) -> None:
    found = paired("pf", "pp", told, told_too)
    trial = found.tasks[0].original
    assert found.basis is basis
    assert (trial.usage.input, trial.usage.output, trial.usage.cache_read) == usage
    assert trial.stated_cost_usd == cost


def test_a_sample_that_was_not_judged_need_not_tell_what_it_cost() -> None:
    costly = outcomes("a:x", "p", cost_usd=0.5)
    broken = outcomes("a:x", "-u")
    found = pair_outcomes([*costly, *broken], outcomes("a:y", "pp", cost_usd=0.1))
    assert found.basis is Basis.STATED
    assert [task.original.stated_cost_usd for task in found.tasks] == [0.5, None]


def price(source: str) -> Rates:
    return Rates(input=2, output=8, cache_read=1, cache_write=1, source=source, at=AT)


@pytest.mark.parametrize(
    ("told", "sources", "kept"),
    [
        (TOKENS, ("packaged", "packaged"), ("packaged", "packaged")),
        (TOKENS, ("packaged", "default"), ("packaged", "default")),
        ({"cost_usd": 1.0}, ("packaged", "override"), ("packaged", "override")),
        ({"cost_usd": 1.0}, ("packaged", "default"), ("unknown", "unknown")),
        ({}, ("packaged", "packaged"), ("unknown", "unknown")),
    ],
)
def test_prices_stand_only_where_something_can_rest_on_them(
    told: dict[str, Any], sources: tuple[str, str], kept: tuple[str, str]
) -> None:
    found = rates_for(paired("p", "p", told), [price(source) for source in sources])
    assert (found[0].source, found[1].source) == kept
    assert {rates.input for rates in found} == ({0} if "unknown" in kept else {2})


@pytest.mark.parametrize(
    ("wanted", "models", "name"),
    [
        ("openai:gpt", {"openai/gpt": ("openai:gpt",), "azure/gpt": ("azure:gpt",)}, "openai/gpt"),
        ("OpenAI:GPT", {"openai/gpt": ("openai:gpt",)}, "openai/gpt"),
        ("gemini:flash", {"google/flash": ("google:flash",), "google/pro": ("google:pro",)}, "google/flash"),
        ("openai:gpt", {"gpt": ("gpt",), "gpt-mini": ("gpt-mini",)}, "gpt"),
        ("bedrock:x:0", {"bedrock:x:0": ("bedrock:x:0",), "bedrock:x": ("bedrock:x",)}, "bedrock:x:0"),
    ],
)
def test_a_model_is_found_by_its_name(wanted: str, models: dict[str, tuple[str, ...]], name: str) -> None:
    assert find_model(ModelSpec.parse(wanted), models, "original") == name


@pytest.mark.parametrize(
    ("wanted", "models", "what"),
    [
        ("openai:gpt-5", OPEN, "the candidate openai:gpt-5 is not in the results"),
        ("x:gpt", {"a/gpt": ("a:gpt",), "b/gpt": ("b:gpt",)}, "the candidate x:gpt is several models in the results"),
    ],
)
def test_a_model_that_is_not_there_is_answered_with_those_that_are(
    wanted: str, models: dict[str, tuple[str, ...]], what: str
) -> None:
    with pytest.raises(UsageError) as caught:
        find_model(ModelSpec.parse(wanted), models, "candidate")
    assert caught.value.what == what
    assert all(form in caught.value.why for forms in models.values() for form in forms)
