"""An artifact's derived numbers follow from its tasks, by arithmetic done here."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import pytest
from pydantic import ValidationError

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import RECOMMENDED, Artifact, RowKey, TaskRecord, derive
from tjbench.compare.pair import Rule, Trial
from tjbench.compare.stats import Verdict, wilson_interval
from tjbench.pricing import Usage


def test_the_key_is_suite_original_and_slot() -> None:
    assert measurement("p", "p").key == RowKey("humaneval", ORIGINAL, RECOMMENDED)
    assert measurement("p", "p", slot=CANDIDATE, suite="s").key == RowKey("s", ORIGINAL, CANDIDATE)


def test_counts_rates_and_deltas() -> None:
    artifact = measurement("pppfpu", "pfpppp")
    assert (artifact.n_tasks, artifact.n_scored, artifact.n_unscored) == (6, 5, 1)
    assert (artifact.original_pass, artifact.candidate_pass, artifact.accuracy_delta_pp) == (4, 4, 0)
    assert (artifact.stats.mcnemar_b, artifact.stats.mcnemar_c, artifact.stats.mcnemar_p_value) == (1, 1, 1)
    assert artifact.verdict is Verdict.INSUFFICIENT_EVIDENCE
    assert artifact.incomplete  # one of six is more than 5 %


def test_dollars_are_tokens_times_prices() -> None:
    # 4 tasks of 100 input tokens; 50 output at 10 USD per million against 100 at 2.
    artifact = measurement("pppp", "pppf", prices=(10.0, 2.0), outputs=(50, 100))
    assert artifact.original_cost_usd == pytest.approx(4 * 150 * 10e-6)
    assert artifact.candidate_cost_usd == pytest.approx(4 * 200 * 2e-6)
    assert artifact.cost_delta_pct == pytest.approx(100 * (1600 / 6000 - 1), abs=1e-4)
    assert artifact.output_token_inflation == 2


def test_what_cannot_be_divided_is_not_said() -> None:
    free = measurement("pp", "pp", prices=(0.0, 2.0))
    assert (free.original_cost_usd, free.cost_delta_pct) == (0, None)
    mute = measurement("pp", "pp", outputs=(0, 100))
    assert mute.output_token_inflation is None


def test_the_published_humaneval_row() -> None:
    artifact = measurement("p" * 45 + "f" * 5, "f" * 17 + "p" * 28 + "f" * 5)
    stats = artifact.stats
    assert artifact.accuracy_delta_pp == -34
    assert [round(end, 1) for end in stats.delta_ci_pp] == [-47.1, -20.9]
    assert (stats.delta_ci_method, stats.mcnemar_p_value) == ("wald", 2 / 2**17)
    assert [round(end, 1) for end in stats.delta_ci_score_pp] == [-47.8, -22.4]
    assert [round(end, 2) for end in stats.original_ci_pp] == [78.64, 95.65]
    assert [round(end, 2) for end in stats.candidate_ci_pp] == [42.31, 68.84]
    assert stats.pass_at_k is None
    assert artifact.verdict is Verdict.SIGNIFICANT_REGRESSION
    assert artifact.verdict_reason == "17 tasks broke, 0 recovered out of 50 (p < 0.001)"


@pytest.mark.parametrize(
    ("before", "after", "score"),
    [
        ("p" * 50, "p" * 50, True),  # Wald says [0, 0]: no task changed, so no drop is possible?
        ("p" * 50, "f" * 50, True),  # and [-100, -100]
        ("p" * 50, "f" * 4 + "p" * 46, True),  # Wald excludes 0 where the exact p is .125
        ("p" * 50, "f" * 17 + "p" * 33, False),
        ("p" * 50, "f" + "p" * 49, False),
    ],
)
def test_the_interval_shown_is_walds_unless_it_misleads(before: str, after: str, score: bool) -> None:
    stats = measurement(before, after).stats
    assert stats.headline_ci_pp == (stats.delta_ci_score_pp if score else stats.delta_ci_pp)
    assert stats.delta_ci_score_pp != stats.delta_ci_pp


def test_the_rule_is_recorded() -> None:
    artifact = measurement("p" * 60, "p" * 60, rule=Rule(margin=0.05, alpha=0.01, unscored_tolerance=0.1))
    assert (artifact.margin_pp, artifact.alpha, artifact.unscored_tolerance_pct) == (5, 0.01, 10)
    assert artifact.verdict is Verdict.NO_SIGNIFICANT_REGRESSION


def test_incomplete_is_more_than_the_tolerated_share() -> None:
    assert not measurement("p" * 100, "p" * 95 + "u" * 5).incomplete
    assert measurement("p" * 100, "p" * 94 + "u" * 6).incomplete
    assert not measurement("p" * 100, "p" * 94 + "u" * 6, rule=Rule(unscored_tolerance=0.06)).incomplete
    assert measurement("", "").incomplete


@pytest.mark.parametrize("permille", [1, 3, 7, 10, 29, 35, 50, 55, 57, 70, 99])
def test_tolerance_is_one_and_the_same_for_the_verdict_and_for_completeness(permille: int) -> None:
    rule = Rule(unscored_tolerance=permille / 10 / 100)  # as the configuration's percentage becomes a proportion
    at = measurement("p" * 1000, "p" * (1000 - permille) + "u" * permille, rule=rule)
    above = measurement("p" * 1000, "p" * (999 - permille) + "u" * (permille + 1), rule=rule)
    assert (at.incomplete, above.incomplete) == (False, True)
    assert "more than the tolerated" in above.verdict_reason
    assert "more than the tolerated" not in at.verdict_reason


# Several samples


def test_several_samples_make_rates_and_pass_at_k() -> None:
    artifact = measurement("3321", "3011", samples=3)
    assert artifact.original_pass == 3
    assert artifact.candidate_pass == pytest.approx(5 / 3)
    assert artifact.accuracy_delta_pp == pytest.approx(100 * (5 / 3 - 3) / 4, abs=1e-4)
    assert (artifact.stats.mcnemar_b, artifact.stats.mcnemar_c) == (2, 0)
    assert (artifact.stats.mid_p, artifact.stats.delta_ci_method) == (None, "task_cluster_t")
    assert artifact.stats.pass_at_k is not None
    # pass@1 is the pass rate; with k = n any pass at all will do.
    assert artifact.stats.pass_at_k["original"] == {"1": pytest.approx(3 / 4), "3": 1}
    assert artifact.stats.pass_at_k["candidate"] == {"1": pytest.approx(5 / 12, abs=1e-6), "3": 3 / 4}


def test_pass_at_ten_of_twenty_samples() -> None:
    digits = "54"  # of 20 samples
    artifact = measurement(digits, digits, samples=20)
    expected = sum(1 - comb(20 - c, 10) / comb(20, 10) for c in (5, 4)) / 2
    assert artifact.stats.pass_at_k is not None
    assert artifact.stats.pass_at_k["candidate"]["10"] == pytest.approx(expected, abs=1e-6)
    assert list(artifact.stats.pass_at_k["candidate"]) == ["1", "10", "20"]


def test_ten_samples_of_a_task_are_not_ten_tasks() -> None:
    many = measurement("p" * 36 + "f" * 4, "p" * 40, samples=10)
    once = measurement("p" * 36 + "f" * 4, "p" * 40)
    low, high = wilson_interval(36, 40)
    assert many.stats.original_ci_pp == once.stats.original_ci_pp == (round(100 * low, 4), round(100 * high, 4))


def test_the_interval_of_a_broken_count_holds_those_around_it() -> None:
    artifact = measurement("55552", "55555", samples=5)  # 4.4 of 5 tasks
    low, high = artifact.stats.original_ci_pp
    assert low == round(100 * wilson_interval(4, 5)[0], 4)
    assert high == 100


def test_costs_sum_all_samples() -> None:
    artifact = measurement("33", "33", samples=3, prices=(10.0, 2.0), outputs=(50, 100))
    assert artifact.original_cost_usd == pytest.approx(2 * 3 * 150 * 10e-6)
    assert artifact.candidate_cost_usd == pytest.approx(2 * 3 * 200 * 2e-6)


def test_nothing_scored_with_several_samples() -> None:
    artifact = measurement("uu", "33", samples=3)
    assert (artifact.n_scored, artifact.original_pass, artifact.stats.pass_at_k) == (0, 0, None)
    assert artifact.stats.original_ci_pp == (0, 100)


# What it refuses


def test_it_cannot_be_changed() -> None:
    artifact = measurement("p", "p")
    with pytest.raises(ValidationError, match="frozen"):
        artifact.verdict = Verdict.NO_SIGNIFICANT_REGRESSION


def test_numbers_are_finite() -> None:
    data = measurement("p", "p").model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="finite"):
        Artifact.model_validate({**data, "accuracy_delta_pp": float("nan")})


def test_dollars_that_another_tool_states_stand_for_their_tokens() -> None:
    artifact = measurement("ppp", "ppf")
    stated = [0.1, 0.2, None]
    records = [
        task.model_copy(update={"original": replace(task.original, stated_cost_usd=cost)})
        for task, cost in zip(artifact.tasks, stated, strict=True)
    ]
    found = derive(records, artifact.rates, ORIGINAL, CANDIDATE, Rule())
    assert found["original_cost_usd"] == pytest.approx(0.3, abs=1e-9)
    assert found["candidate_cost_usd"] == artifact.candidate_cost_usd
    assert not artifact.costs_stated
    assert artifact.model_copy(update={"tasks": tuple(records)}).costs_stated


def test_a_price_is_what_makes_no_dollars_known() -> None:
    free = measurement("p", "p", prices=(0.0, 0.0))
    unpriced = measurement("p", "p", prices=(0.0, 0.0), source="unknown")
    assert (free.costs_known, unpriced.costs_known) == (True, False)


@pytest.mark.parametrize("cost", [-0.01, float("inf"), float("nan")])
def test_no_cost_is_below_zero_or_without_end(cost: float) -> None:
    with pytest.raises(ValidationError, match="no cost is like this"):
        TaskRecord(
            task_id="t",
            check_hash="c",
            prompt_hash="p",
            original=Trial(passes=1, samples=1, usage=Usage(), stated_cost_usd=cost),
            candidate=Trial(passes=1, samples=1, usage=Usage()),
        )
