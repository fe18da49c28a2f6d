"""Tests and intervals of one-sample pairs against exact fractions and published values."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import comb, inf, sqrt
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tjbench.compare import paired

Z = 1.959963984540054


def tail(k: int, m: int) -> Fraction:
    terms = accumulate(range(k), lambda term, i: term * (m - i) // (i + 1), initial=1)
    return Fraction(sum(terms), 2**m)


@pytest.mark.parametrize(
    ("b", "c", "p"), [(0, 0, 1), (1, 0, 1), (5, 0, 0.0625), (6, 0, 0.03125), (17, 0, 2**-16), (0, 17, 2**-16)]
)
def test_two_sided_p(b: int, c: int, p: float) -> None:
    assert paired.mcnemar_exact(b, c) == p


def test_p_of_more_discordant_pairs_than_a_float_can_count() -> None:
    assert paired.mcnemar_exact(520, 510) == pytest.approx(0.779164, abs=5e-7)
    assert paired.mcnemar_exact(501_000, 499_000) == pytest.approx(0.0456083, abs=5e-8)
    assert paired.mcnemar_exact(500_000, 500_000) == 1
    assert paired.mcnemar_exact(10**6, 0) == 0


def test_a_million_discordant_pairs_take_milliseconds() -> None:
    start = perf_counter()
    paired.mcnemar_exact(501_000, 499_000)
    assert perf_counter() - start < 0.25


@settings(max_examples=60)
@given(st.integers(0, 1800), st.integers(0, 1800))
def test_p_is_the_binomial_tail_on_both_sides_of_the_exact_range(b: int, c: int) -> None:
    m, exact = b + c, float(tail(min(b, c), b + c))
    assert paired.mcnemar_exact(b, c) == pytest.approx(min(1, 2 * exact), rel=1e-11)
    assert paired.mcnemar_one_sided(b, c) == pytest.approx(float(tail(c, m)), rel=1e-11)
    point = float(Fraction(comb(m, min(b, c)), 2**m))
    assert paired.mcnemar_mid_p(b, c) == pytest.approx(min(1, 2 * exact - point), rel=1e-11)


def test_one_sided_p_sees_regressions_only() -> None:
    assert paired.mcnemar_one_sided(17, 0) == 2**-17
    assert paired.mcnemar_one_sided(0, 17) == 1


def test_wald_interval_is_a_point_where_nothing_changed() -> None:
    assert paired.delta_wald(0, 0, 50) == (0, 0)
    assert paired.delta_wald(4, 0, 50)[1] < 0  # beside p = .125: why no decision uses it


@pytest.mark.parametrize("n", [10, 50, 164, 1319])
def test_score_interval_where_nothing_changed_has_a_closed_form(n: int) -> None:
    half_width = Z**2 / (n + Z**2)
    assert paired.delta_score(0, 0, n) == pytest.approx((-half_width, half_width), rel=1e-9)


@pytest.mark.parametrize(("b", "c", "n", "low", "high"), [(17, 0, 50, -47.8, -22.4), (1, 0, 50, -10.5, 5.3)])
def test_score_intervals_of_the_published_rows(b: int, c: int, n: int, low: float, high: float) -> None:
    assert [round(100 * end, 1) for end in paired.delta_score(b, c, n)] == [low, high]


def tango_score(b: int, c: int, n: int, delta: float) -> float:
    """Tango's statistic with the constrained estimate found by maximizing the likelihood, not by its closed form."""
    low, high = max(0.0, -delta) + 1e-12, (1 - delta) / 2 - 1e-12
    for _ in range(200):
        q = (low + high) / 2  # P(pass -> fail); P(fail -> pass) = q + delta
        slope = b / q + c / (q + delta) - 2 * (n - b - c) / (1 - 2 * q - delta)
        low, high = (q, high) if slope > 0 else (low, q)
    return (c - b - n * delta) / sqrt(n * (2 * low + delta - delta * delta))


@pytest.mark.parametrize(("b", "c", "n"), [(9, 2, 50), (60, 32, 1319), (17, 0, 50), (3, 8, 40), (1, 1, 12)])
def test_score_interval_is_where_the_statistic_reaches_z(b: int, c: int, n: int) -> None:
    low, high = paired.delta_score(b, c, n)
    assert tango_score(b, c, n, low) == pytest.approx(Z, abs=1e-6)
    if abs(tango_score(b, c, n, 0)) > Z and paired.mcnemar_exact(b, c) >= 0.05:
        assert low < 0 <= high  # the reconciled end
    else:
        assert tango_score(b, c, n, high) == pytest.approx(-Z, abs=1e-6)


pairs = st.integers(1, 4000).flatmap(
    lambda n: st.integers(0, n).flatmap(lambda m: st.tuples(st.integers(0, m).map(lambda b: (b, m - b)), st.just(n)))
)
Case = tuple[tuple[int, int], int]
few_pairs = st.tuples(st.tuples(st.integers(0, 40), st.integers(0, 40)), st.integers(80, 400))


@settings(max_examples=2_000, deadline=None)
@given(st.one_of(pairs, few_pairs))
def test_score_interval_excludes_no_change_exactly_when_the_exact_test_rejects(
    pair: Case,
) -> None:
    (b, c), n = pair
    low, high = paired.delta_score(b, c, n)
    assert (not low <= 0 <= high) == (paired.mcnemar_exact(b, c) < 0.05)
    assert -1 <= low <= (c - b) / n <= high <= 1


def test_score_interval_and_exact_test_agree_in_every_small_cell() -> None:
    for n in (31, 50):
        for m in range(31):
            for b in range(m + 1):
                low, high = paired.delta_score(b, m - b, n)
                assert (not low <= 0 <= high) == (paired.mcnemar_exact(b, m - b) < 0.05), (b, m - b, n)


@given(few_pairs, st.sampled_from([0.8, 0.9, 0.99, 0.999]))
def test_they_agree_at_other_levels_too(pair: Case, confidence: float) -> None:
    (b, c), n = pair
    low, high = paired.delta_score(b, c, n, confidence)
    assert (not low <= 0 <= high) == (paired.mcnemar_exact(b, c) < round(1 - confidence, 12))


@given(few_pairs)
def test_exchanging_the_runs_mirrors_the_interval(pair: Case) -> None:
    (b, c), n = pair
    low, high = paired.delta_score(b, c, n)
    assert paired.delta_score(c, b, n) == (-high, -low)


@pytest.mark.parametrize("n", [10, 29, 50, 164, 1319])
def test_lower_bound_without_any_loss_is_the_rule_of_three(n: int) -> None:
    assert paired.delta_lower_bound(0, 0, n) == pytest.approx(-(1 - 0.05 ** (1 / n)), rel=1e-12)


def test_lower_bound_without_recoveries_never_beats_clopper_pearson() -> None:
    for b in range(0, 30):
        drop = -paired.delta_lower_bound(b, 0, 50)
        at_most_b = sum(comb(50, i) * drop**i * (1 - drop) ** (50 - i) for i in range(b + 1))
        assert at_most_b <= 0.05 + 1e-9


def test_lower_bound_falls_as_confidence_grows() -> None:
    bounds = [paired.delta_lower_bound(3, 1, 100, confidence=level) for level in (0.8, 0.9, 0.95, 0.99)]
    assert bounds == sorted(bounds, reverse=True)


@given(few_pairs, st.sampled_from([0.02, 0.05, 0.1, 0.3]))
def test_a_drop_is_ruled_out_exactly_when_the_bound_lies_above_it(pair: Case, margin: float) -> None:
    (b, c), n = pair
    assert paired.rules_out_drop(b, c, n, margin) == (paired.delta_lower_bound(b, c, n) > -margin)


def test_without_tasks_nothing_is_ruled_out() -> None:
    assert paired.delta_wald(0, 0, 0) == paired.delta_score(0, 0, 0) == (-1, 1)
    assert paired.delta_lower_bound(0, 0, 0) == -1


def test_every_task_lost() -> None:
    assert paired.delta_score(30, 0, 30)[0] == -1
    assert paired.delta_lower_bound(30, 0, 30) == -1


def test_evidence_of_losses_only() -> None:
    found = [round(paired.e_value(b, 0), 1) for b in range(9)]
    assert found == [1, 1.5, 2.3, 3.8, 6.2, 10.5, 18.1, 31.9, 56.8]


@given(st.integers(0, 12), st.integers(0, 12))
def test_evidence_is_the_mixture_likelihood_ratio(b: int, c: int) -> None:
    steps = 4000
    middles = [0.5 + (i + 0.5) / (2 * steps) for i in range(steps)]
    ratio = sum((2 * x) ** b * (2 * (1 - x)) ** c for x in middles) / steps
    assert paired.e_value(b, c) == pytest.approx(ratio, rel=1e-5)


def test_evidence_is_a_fair_bet_when_nothing_changed() -> None:
    for b, c in [(0, 0), (3, 1), (40, 35), (1500, 1400)]:
        after = (paired.e_value(b + 1, c) + paired.e_value(b, c + 1)) / 2
        assert after == pytest.approx(paired.e_value(b, c), rel=1e-9)


def test_evidence_beyond_a_float_is_infinite() -> None:
    assert paired.e_value(1500, 0) == paired.e_value(10_000, 0) == inf
    assert paired.e_value(0, 10_000) == pytest.approx(1 / 10_001, rel=1e-9)
