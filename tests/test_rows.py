"""From a configuration to rows: what is planned, what is withdrawn, and who answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.fakes.sums import sums, sums_jsonl
from tests.fakes.tokenjam import BIG, SMALL, snapshot
from tjbench.compare.artifact import RowKey
from tjbench.compare.pair import Rule
from tjbench.config import Config, ModelSpec, Policy, config_of
from tjbench.errors import UsageError
from tjbench.models.model import Request, Sampling
from tjbench.row_plan import RowPlan
from tjbench.rows import Rows, gateways_of, mock_opener, models_of, plan_rows, resolve_mock, rule_of
from tjbench.suites import load_suite
from tjbench.suites.task import Suite

OPUS, HAIKU = ModelSpec.parse("anthropic:claude-opus-4-7"), ModelSpec.parse("anthropic:claude-haiku-4-5")


def config(*proofs: dict[str, Any], **tables: Any) -> Config:
    return config_of({"proof": list(proofs), **tables}, "--")


def planned(wanted: Config, *, suites: Mapping[str, Suite] | None = None, **found: Any) -> Rows:
    shelf = suites or {"sums": sums(60), "others": sums(5, name="others")}
    return plan_rows(wanted, snapshot(**found), lambda name, _: shelf[name])


# --- plans


def test_every_combination_of_suite_and_original_is_a_row() -> None:
    rows = planned(
        config({"suite": ["sums", "others"], "original": [str(BIG), "openai:other"], "candidate": str(SMALL)})
    )
    assert [(p.suite.name, str(p.original), str(p.candidate), p.slot) for p in rows.plans] == [
        ("sums", "openai:big", "openai:small", "openai:small"),
        ("sums", "openai:other", "openai:small", "openai:small"),
        ("others", "openai:big", "openai:small", "openai:small"),
        ("others", "openai:other", "openai:small", "openai:small"),
    ]
    assert {p.recommended_by for p in rows.plans} == {"pinned"}


def test_without_a_candidate_tokenjams_recommendation_is_taken_and_named() -> None:
    (row,) = planned(config({"suite": "sums", "original": str(BIG)})).plans
    assert (row.candidate, row.slot, row.recommended_by) == (SMALL, "recommended", "tokenjam 9.1.0 map")


def test_a_recommendation_without_a_price_is_said() -> None:
    (row,) = planned(config({"suite": "sums", "original": str(BIG)}), sources={SMALL: "default"}).plans
    assert row.recommended_by == "tokenjam 9.1.0 map (which it cannot price)"


def test_a_recommendation_that_is_not_made_leaves_the_row_withdrawn() -> None:
    rows = planned(config({"suite": "sums", "original": str(BIG), "required": False}), recommended={BIG: None})
    key = RowKey("sums", "openai:big", "recommended")
    assert rows.plans == ()
    assert rows.withdrawn == {key: "tokenjam 9.1.0 recommends no cheaper model for openai:big"}
    assert not rows.policies[key].required


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("gemini-2.5-pro", "; it does for google:gemini-2-5-pro, as it spells it"),
        ("gemini-2.5-flash", ""),
        ("gemini-2-5-flash", ""),
    ],
)
def test_a_model_that_tokenjam_spells_otherwise_is_named_as_it_spells_it(asked: str, hint: str) -> None:
    spec = ModelSpec("google", asked)
    pro, flash = ModelSpec("google", "gemini-2-5-pro"), ModelSpec("google", "gemini-2-5-flash")
    found = replace(snapshot(prices={spec: (1, 2)}), mapped=(pro,), candidates={pro: flash})
    assert found.why_none(spec) == f"tokenjam 9.1.0 recommends no cheaper model for {spec}{hint}"


def test_a_pinned_candidate_needs_no_recommendation() -> None:
    rows = planned(
        config({"suite": "sums", "original": str(BIG), "candidate": "openai:other"}), recommended={BIG: None}
    )
    assert [str(row.candidate) for row in rows.plans] == ["openai:other"]
    assert rows.withdrawn == {}


def test_what_is_sent_and_how_it_is_judged_are_the_proofs_own() -> None:
    wanted = config(
        {
            "suite": "sums",
            "original": str(BIG),
            "limit": 7,
            "samples": 3,
            "temperature": 0.2,
            "max_tokens": 50,
            "seed": 4,
            "margin_pp": 5,
            "fail_on": "downsize",
            "required": False,
        },
        {"suite": "others", "original": str(BIG)},
        gate={"alpha": 0.01, "margin_pp": 20, "unscored_tolerance_pct": 2},
    )
    first, second = planned(wanted).plans
    assert [task.id for task in first.suite.tasks] == [f"sum-{n}" for n in range(7)]
    assert first.suite.n_available == 60
    assert (first.samples, first.sampling) == (3, Sampling(max_tokens=50, temperature=0.2, seed=4))
    assert first.rule == Rule(margin=0.05, alpha=0.01, unscored_tolerance=0.02)
    assert (second.samples, second.sampling) == (1, Sampling(max_tokens=2048))
    assert second.rule == rule_of(wanted) == Rule(margin=0.2, alpha=0.01, unscored_tolerance=0.02)
    policy = planned(wanted).policies[RowKey("sums", "openai:big", "recommended")]
    assert (policy.required, policy.fail_on, policy.rule) == (False, (Policy.DOWNSIZE,), first.rule)


def test_two_files_of_one_name_are_not_mixed_up() -> None:
    shelf = {"../a/x.jsonl": sums(5, name="x.jsonl"), "../b/x.jsonl": sums(6, name="x.jsonl")}
    wanted = config({"suite": list(shelf), "original": [str(BIG)]})
    with pytest.raises(UsageError, match=r"two suites go by the name x\.jsonl"):
        planned(wanted, suites=shelf)


def test_one_row_under_two_spellings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(sums_jsonl(3))
    wanted = config({"suite": ["a.jsonl", "./a.jsonl"], "original": str(BIG)})
    with pytest.raises(UsageError, match="stands in two proofs"):
        plan_rows(wanted, snapshot(), lambda name, _: load_suite(name, workspace=tmp_path))


def test_the_models_of_a_configuration_are_its_originals_and_pinned_candidates() -> None:
    wanted = config(
        {"suite": ["sums", "others"], "original": [str(BIG)]},
        {"suite": "sums", "original": "openai:other", "candidate": str(SMALL)},
    )
    assert models_of(wanted) == [BIG, ModelSpec("openai", "other"), SMALL]


# --- mock or live


def rows(*pairs: tuple[str, str]) -> tuple[RowPlan, ...]:
    wanted = config(*({"suite": "sums", "original": original, "candidate": pair} for original, pair in pairs))
    return planned(wanted).plans


ANTHROPIC = rows((str(OPUS), str(HAIKU)))
MIXED = rows((str(OPUS), str(SMALL)))
LOCAL = rows(("ollama:big", "ollama:small"))
KEY_A, KEY_O = {"ANTHROPIC_API_KEY": "k"}, {"OPENAI_API_KEY": "k"}
LOOPBACK = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("mode", "plans", "environ", "silently", "mock"),
    [
        (True, ANTHROPIC, {}, False, True),
        (True, ANTHROPIC, KEY_A, False, True),
        ("auto", ANTHROPIC, KEY_A, False, False),
        ("auto", ANTHROPIC, KEY_A, True, False),
        ("auto", ANTHROPIC, {}, True, True),
        ("auto", MIXED, {}, True, True),
        ("auto", MIXED, KEY_A | KEY_O, True, False),
        ("auto", LOCAL, {}, True, False),
        ("auto", ANTHROPIC, LOOPBACK, True, False),
        (False, ANTHROPIC, KEY_A, False, False),
        (False, LOCAL, {}, False, False),
    ],
)
def test_who_answers(
    mode: Literal["auto"] | bool, plans: tuple[RowPlan, ...], environ: dict[str, str], silently: bool, mock: bool
) -> None:
    assert resolve_mock(mode, plans, {}, environ, silently=silently) is mock


@pytest.mark.parametrize(
    ("mode", "plans", "environ", "silently", "missing"),
    [
        ("auto", ANTHROPIC, {}, False, "ANTHROPIC_API_KEY"),
        ("auto", ANTHROPIC, {"ANTHROPIC_API_KEY": "  "}, False, "ANTHROPIC_API_KEY"),
        ("auto", MIXED, KEY_A, True, "OPENAI_API_KEY"),
        ("auto", MIXED, KEY_O | LOOPBACK, True, None),
        ("auto", MIXED, LOOPBACK, False, "OPENAI_API_KEY"),
        (False, ANTHROPIC, {}, True, "ANTHROPIC_API_KEY"),
        (False, MIXED, {}, True, "ANTHROPIC_API_KEY, OPENAI_API_KEY"),
    ],
)
def test_a_gate_never_swaps_a_measurement_for_a_script(
    mode: Literal["auto"] | bool,
    plans: tuple[RowPlan, ...],
    environ: dict[str, str],
    silently: bool,
    missing: str | None,
) -> None:
    if missing is None:
        assert resolve_mock(mode, plans, {}, environ, silently=silently) is False
        return
    with pytest.raises(UsageError) as refused:
        resolve_mock(mode, plans, {}, environ, silently=silently)
    assert refused.value.what == f"missing key: {missing}"
    assert "--mock" in refused.value.fix


def test_a_gateway_names_the_variable_of_its_own_key() -> None:
    wanted = config(
        {"suite": "sums", "original": "house:big", "candidate": "house:small"},
        providers={"house": {"base_url": "https://llm.example.com/v1", "api_key_env": "HOUSE_API_KEY"}},
    )
    plans = planned(wanted).plans
    with pytest.raises(UsageError, match="HOUSE_API_KEY"):
        resolve_mock("auto", plans, gateways_of(wanted), {}, silently=False)
    assert not resolve_mock("auto", plans, gateways_of(wanted), {"HOUSE_API_KEY": "k"}, silently=False)


# --- scripted models


def answered(wanted: Config, spec: ModelSpec, suite: Suite, seed: int | None = None) -> list[bool]:
    model = mock_opener(wanted, seed)(spec, suite)
    texts = [
        model.answer(Request(task_id=task.id, sample=0, messages=(), sampling=Sampling())).text for task in suite.tasks
    ]
    return [text == task.canned.right for text, task in zip(texts, suite.tasks, strict=True) if task.canned]


def test_scripted_models_are_as_accurate_as_configured() -> None:
    wanted = config({}, mock={"default": 1.0, "accuracy": {str(SMALL): 0.0}})
    assert answered(wanted, BIG, sums(20)) == [True] * 20
    assert answered(wanted, SMALL, sums(20)) == [False] * 20


def test_another_seed_makes_other_mistakes() -> None:
    wanted = config({}, mock={"default": 0.5})
    assert answered(wanted, BIG, sums(40), 1) == answered(wanted, BIG, sums(40), 1)
    assert answered(wanted, BIG, sums(40), 1) != answered(wanted, BIG, sums(40), 2)


def test_a_suite_without_canned_answers_cannot_be_mocked_and_says_which_task() -> None:
    suite = sums(3)
    bare = replace(suite, tasks=(*suite.tasks[:2], *sums(3, canned=False).tasks[2:]))
    with pytest.raises(UsageError) as refused:
        mock_opener(config({}), None)(BIG, bare)
    assert (refused.value.what, refused.value.why) == (
        "suite sums cannot be mocked",
        "task sum-2 has no canned answers",
    )
