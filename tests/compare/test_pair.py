"""Pairs of trials: what counts, what it proves, and what unscored tasks do to the verdict."""

from __future__ import annotations

from math import comb

import pytest

from tests.fakes.artifacts import trial
from tjbench.compare.pair import UNKNOWN, Change, Comparison, Pair, Rule, Trial, compare, measure_change, p_text, tasks
from tjbench.compare.stats import Verdict
from tjbench.pricing import Usage

NO, YES, UNCLEAR = (
    Verdict.NO_SIGNIFICANT_REGRESSION,
    Verdict.SIGNIFICANT_REGRESSION,
    Verdict.INSUFFICIENT_EVIDENCE,
)


def pairs(before: str, after: str, samples: int = 1) -> list[Pair]:
    return [
        Pair(task_id=f"t{i}", before=trial(b, samples=samples), after=trial(a, samples=samples))
        for i, (b, a) in enumerate(zip(before, after, strict=True))
    ]


def change(before: str, after: str, samples: int = 1, rule: Rule | None = None) -> Change:
    return measure_change(pairs(before, after, samples), rule or Rule())


def compared(before: str, after: str, samples: int = 1, rule: Rule | None = None) -> Comparison:
    return compare(pairs(before, after, samples), rule or Rule())


# One sample


def test_the_published_humaneval_row() -> None:
    # Opus 45 of 50, haiku 28: 17 broke, none recovered.
    found = change("p" * 45 + "f" * 5, "f" * 17 + "p" * 28 + "f" * 5)
    assert (found.b, found.c, found.n) == (17, 0, 50)
    assert (found.before_pass, found.after_pass) == (45, 28)
    assert found.delta == pytest.approx(-0.34)
    assert found.p_two_sided == 2 / 2**17
    assert found.p_one_sided == 1 / 2**17
    assert [round(100 * end, 1) for end in found.interval_wald] == [-47.1, -20.9]
    assert [round(100 * end, 1) for end in found.interval_score] == [-47.8, -22.4]
    assert found.verdict is YES


def test_the_published_gsm8k_row() -> None:
    found = change("p" * 49 + "f", "f" + "p" * 48 + "f")
    assert (found.b, found.c, found.p_two_sided) == (1, 0, 1.0)
    assert [round(100 * end, 1) for end in found.interval_wald] == [-5.9, 1.9]
    assert round(100 * found.lower_bound, 2) == -9.14
    assert found.verdict is NO


def test_broken_and_recovered_tasks_are_named_in_order() -> None:
    found = change("ppfpf", "fpppp")
    assert (found.broke, found.recovered) == (("t0",), ("t2", "t4"))
    assert found.mid_p == pytest.approx(2 * sum(comb(3, i) for i in range(2)) / 8 - comb(3, 1) / 8)


def test_an_unscored_task_leaves_both_sides() -> None:
    found = change("ppppu", "pfupp")
    assert (found.n, found.before_pass, found.after_pass) == (3, 3, 2)
    assert found.broke == ("t1",)


def test_no_task_proves_nothing() -> None:
    for found in (change("", ""), change("uu", "pu")):
        assert (found.n, found.b, found.c, found.p_one_sided, found.delta) == (0, 0, 0, 1, 0)
        assert found.interval_score == found.interval_wald == UNKNOWN
        assert (found.lower_bound, found.detectable_drop) == (-1, None)
        assert found.verdict is UNCLEAR


def test_the_detectable_drop_is_that_of_the_rules_alpha() -> None:
    # At n = 5 the smallest two-sided p is 1/16: never below .05, but below .2.
    assert change("p" * 5, "p" * 5).detectable_drop is None
    assert change("p" * 5, "p" * 5, rule=Rule(alpha=0.2)).detectable_drop is not None


@pytest.mark.parametrize(
    ("b", "c", "n", "margin", "verdict"),
    [
        (0, 0, 28, 0.10, UNCLEAR),
        (0, 0, 29, 0.10, NO),
        (0, 0, 58, 0.05, UNCLEAR),
        (0, 0, 59, 0.05, NO),
        (0, 2, 12, 0.10, UNCLEAR),
        (8, 0, 9, 0.10, UNCLEAR),
        (6, 0, 10, 0.10, YES),
        (4, 2, 50, 0.10, UNCLEAR),
        (7, 2, 50, 0.10, UNCLEAR),
    ],
)
def test_the_verdict_rule_at_its_edges(b: int, c: int, n: int, margin: float, verdict: Verdict) -> None:
    before, after = "p" * b + "f" * c + "p" * (n - b - c), "f" * b + "p" * c + "p" * (n - b - c)
    assert change(before, after, rule=Rule(margin=margin)).verdict is verdict


# Several samples


def test_passes_of_several_samples_are_rates() -> None:
    found = change("3321", "3011", samples=3)
    assert (found.before_pass, found.after_pass) == (9 / 3, 5 / 3)
    assert found.delta == pytest.approx((5 - 9) / 3 / 4)
    assert (found.b, found.c, found.samples) == (2, 0, 3)
    assert (found.broke, found.recovered) == (("t1", "t2"), ())
    # Changes -3 and -1: of the four ways to sign them one sums to -4.
    assert (found.p_one_sided, found.p_two_sided, found.mid_p) == (1 / 4, 2 / 4, None)


def test_a_drop_that_a_majority_vote_hides_is_found() -> None:
    # Every one of 20 tasks loses one of five samples: each still passes by majority.
    found = change("5" * 20, "4" * 20, samples=5)
    assert found.p_two_sided == 2 / 2**20
    assert found.delta == pytest.approx(-0.2)
    assert found.verdict is YES


def test_the_same_tasks_with_several_samples_rule_a_drop_out() -> None:
    assert change("5" * 60, "5" * 60, samples=5).verdict is NO
    assert change("5" * 20, "5" * 20, samples=5).verdict is UNCLEAR


def test_a_task_with_one_unjudged_sample_leaves_the_pairing() -> None:
    before = [Pair(task_id="a", before=trial("3", samples=3), after=trial("3", samples=3))]
    partly = Trial(passes=2, samples=3, unscored=1, usage=Usage())
    found = measure_change([*before, Pair(task_id="b", before=trial("3", samples=3), after=partly)], Rule())
    assert (found.n, found.after_pass) == (1, 1)


def test_different_numbers_of_samples_are_not_mixed() -> None:
    mixed = [*pairs("p", "p"), *pairs("3", "3", samples=3)]
    with pytest.raises(ValueError, match="different numbers of samples"):
        measure_change(mixed, Rule())
    with pytest.raises(ValueError, match="different numbers of samples"):
        measure_change([Pair(task_id="a", before=trial("p"), after=trial("3", samples=3))], Rule())


# Unscored tasks and the verdict


def test_too_many_unscored_tasks_take_the_verdict_away() -> None:
    # 6 of 100 is more than 5 %: what the other 94 show does not matter.
    found = compared("p" * 100, "f" * 40 + "p" * 54 + "u" * 6)
    assert found.verdict is UNCLEAR
    assert found.change.verdict is YES
    assert found.reason == (
        "6 of 100 tasks are unscored (0 on the original, 6 on the candidate), more than the tolerated 5 %"
    )
    assert (found.n_tasks, found.n_unscored, found.unscored_before, found.unscored_after) == (100, 6, 0, 6)


def test_exactly_the_tolerated_share_is_tolerated() -> None:
    found = compared("p" * 100, "f" * 40 + "p" * 55 + "u" * 5)
    assert found.verdict is YES


def test_the_two_sides_share_one_tolerance() -> None:
    found = compared("u" * 3 + "p" * 97, "p" * 97 + "u" * 3)
    assert found.verdict is UNCLEAR
    assert "6 of 100 tasks are unscored (3 on the original, 3 on the candidate)" in found.reason


def test_one_sided_failures_that_could_change_the_verdict_are_said_with_both_verdicts() -> None:
    # 100 tasks; 2 broke; 5 unscored on the candidate. Without them b = 2 of 95: a drop of 10 pp is ruled out. As
    # failures b = 7, c = 0: p = 2 / 128 = .016.
    found = compared("p" * 100, "ff" + "p" * 93 + "u" * 5)
    assert found.verdict is UNCLEAR
    assert found.change.verdict is NO
    assert found.reason == (
        "no_significant_regression without the 5 unscored tasks, significant_regression with them counted as failures "
        "(0 unscored on the original, 5 on the candidate)"
    )


def test_a_regression_that_unscored_tasks_of_the_original_could_undo_is_not_claimed() -> None:
    # b = 6, c = 0: p = .031. With five more tasks that the original failed and the candidate passed b = 6, c = 5.
    found = compared("p" * 95 + "u" * 5, "f" * 6 + "p" * 94)
    assert (found.change.verdict, found.verdict) == (YES, UNCLEAR)


def test_unscored_tasks_that_change_nothing_leave_the_verdict() -> None:
    assert compared("p" * 100, "p" * 99 + "u").verdict is NO
    assert compared("p" * 100, "f" * 40 + "p" * 59 + "u").verdict is YES


def test_equal_counts_are_taken_as_chance() -> None:
    assert compared("p" * 98 + "uu", "p" * 98 + "uu").verdict is NO


def test_unjudged_samples_are_counted_where_tasks_are_not() -> None:
    # One task unscored on each side, but by one sample there and by all ten here.
    whole = trial("p", samples=10)
    rest = [Pair(task_id=f"t{i}", before=whole, after=whole) for i in range(30)]
    once = Trial(passes=9, samples=10, unscored=1, usage=Usage())
    never = Trial(passes=0, samples=10, unscored=10, usage=Usage())
    both = [Pair(task_id="a", before=once, after=whole), Pair(task_id="b", before=whole, after=never)]
    found = compare([*rest, *both], Rule(unscored_tolerance=0.1))
    assert (found.unscored_before, found.unscored_after) == (1, 1)
    assert (found.change.verdict, found.verdict) == (NO, UNCLEAR)
    assert "insufficient_evidence with them counted as failures" in found.reason


def test_tasks_are_counted_where_unjudged_samples_are_equal() -> None:
    # Two tasks lost one sample each there, one lost two here. 28 tasks are one too few to rule 10 pp out, 31 are not.
    whole = trial("p", samples=10)
    rest = [Pair(task_id=f"t{i}", before=whole, after=whole) for i in range(28)]
    once = Trial(passes=9, samples=10, unscored=1, usage=Usage())
    twice = Trial(passes=8, samples=10, unscored=2, usage=Usage())
    lost = [Pair(task_id=name, before=once, after=whole) for name in "ab"]
    found = compare([*rest, *lost, Pair(task_id="c", before=whole, after=twice)], Rule(unscored_tolerance=0.1))
    assert found.verdict is UNCLEAR
    assert "no_significant_regression with them counted as failures" in found.reason


def test_nothing_asked_is_insufficient() -> None:
    found = compared("", "")
    assert (found.verdict, found.n_tasks) == (UNCLEAR, 0)
    assert "at least 29 scored tasks" in found.reason


# Sentences


@pytest.mark.parametrize(
    ("before", "after", "margin", "reason"),
    [
        ("p" * 50, "f" * 17 + "p" * 33, 0.1, "17 tasks broke, 0 recovered out of 50 (p < 0.001)"),
        ("p" * 50, "f" * 6 + "p" * 44, 0.1, "6 tasks broke, 0 recovered out of 50 (p = 0.031)"),
        (
            "p" * 50,
            "f" + "p" * 49,
            0.1,
            "1 task broke, 0 recovered out of 50; a drop of 10 pp or more is ruled out at 95 %",
        ),
        (
            "p" * 20,
            "p" * 20,
            0.1,
            "0 tasks broke, 0 recovered out of 20; at least 29 scored tasks are needed to rule out a drop of 10 pp",
        ),
        ("p" * 50, "f" * 5 + "p" * 45, 0.1, "5 tasks broke, 0 recovered out of 50; a drop up to"),
        (
            "p" * 8,
            "p" * 8,
            0.5,  # five tasks would rule out a drop by half, but below ten nothing is said
            "0 tasks broke, 0 recovered out of 8; at least 10 scored tasks are needed to rule out a drop of 50 pp",
        ),
    ],
)
def test_reasons_are_sentences_with_their_counts(before: str, after: str, margin: float, reason: str) -> None:
    assert compared(before, after, rule=Rule(margin=margin)).reason.startswith(reason)


def test_counts_and_p_values_in_words() -> None:
    assert (tasks(1), tasks(0), tasks(2)) == ("task", "tasks", "tasks")
    assert (p_text(0.0125), p_text(0.00099), p_text(1.0)) == ("= 0.013", "< 0.001", "= 1.000")


# Which tasks really broke


def test_tasks_that_broke_beyond_chance_stand_first_and_apart() -> None:
    # t0 lost 1 of 9 (chance), t2 lost all 9: p = 1/C(18, 9).
    got = change("9" * 6, "890999", samples=9)
    assert (got.broke, got.broke_surely) == (("t2", "t0"), ("t2",))


def test_with_few_samples_no_task_proves_anything_and_p_orders_them() -> None:
    # 3 to 0 has p = 1/C(6, 3) = 1/20, its smallest; three such tasks cannot each be held at 0.05.
    got = change("3333", "2000", samples=3)
    assert (got.broke, got.broke_surely) == (("t1", "t2", "t3", "t0"), ())


def test_with_one_sample_the_suites_order_stays() -> None:
    got = change("pppp", "fpff")
    assert (got.broke, got.broke_surely) == (("t0", "t2", "t3"), ())
