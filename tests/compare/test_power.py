"""Power, detectable drops and tasks needed against direct enumeration and an independent table."""

from __future__ import annotations

from math import ceil, comb, factorial

import pytest

from tjbench.compare.paired import mcnemar_exact
from tjbench.compare.power import (
    _critical_recoveries,
    _most_recoveries,
    _rule_out_power,
    detectable_drop,
    detection_power,
    tasks_needed,
    tasks_to_rule_out,
)
from tjbench.compare.stats import Verdict, verdict


def chances(n: int, lose: float, gain: float) -> dict[tuple[int, int], float]:
    """Trinomial probabilities of every (b, c)."""
    return {
        (b, c): factorial(n)
        // (factorial(b) * factorial(c) * factorial(n - b - c))
        * lose**b
        * gain**c
        * (1 - lose - gain) ** (n - b - c)
        for b in range(n + 1)
        for c in range(n + 1 - b)
    }


@pytest.mark.parametrize(
    ("n", "drop", "flip_rate", "alpha"), [(20, 0.3, 0.05, 0.05), (40, 0.1, 0.3, 0.05), (30, 0.2, 0, 0.01)]
)
def test_power_is_the_chance_of_a_significant_regression(n: int, drop: float, flip_rate: float, alpha: float) -> None:
    chance = chances(n, drop + flip_rate / 2, flip_rate / 2)
    expected = sum(p for (b, c), p in chance.items() if b > c and mcnemar_exact(b, c) < alpha)
    assert detection_power(n, drop, flip_rate, alpha) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("n", "margin", "flip_rate"), [(50, 0.1, 0.05), (35, 0.1, 0.2), (60, 0.05, 0.02)])
def test_rule_out_power_is_the_chance_of_that_verdict(n: int, margin: float, flip_rate: float) -> None:
    chance = chances(n, flip_rate / 2, flip_rate / 2)
    wanted = Verdict.NO_SIGNIFICANT_REGRESSION
    expected = sum(p for (b, c), p in chance.items() if verdict(b, c, n, margin) is wanted)
    assert _rule_out_power(n, margin, flip_rate) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "drop_pp", "digit"),
    [(10, 73, 1), (20, 41, 1), (50, 19.8, 0.1), (100, 11.6, 0.1), (164, 8.2, 0.1), (500, 3.9, 0.1), (1319, 2.2, 0.1)],
)
def test_detectable_drops_agree_with_an_independent_table(n: int, drop_pp: float, digit: float) -> None:
    drop = detectable_drop(n)
    assert drop is not None
    assert 100 * drop == pytest.approx(drop_pp, abs=digit)
    assert detection_power(n, drop) >= 0.8 > detection_power(n, drop - 0.0001)


def test_too_few_tasks_detect_nothing() -> None:
    assert [detectable_drop(n) is None for n in (0, 5, 6)] == [True, True, False]  # 2 / 2^5 > .05 > 2 / 2^6


@pytest.mark.parametrize(
    ("flip_rate", "margin", "rule_out", "detect"),
    [
        (0, 0.10, 29, 78),
        (0.02, 0.05, 101, 228),
        (0.05, 0.10, 49, 122),
        (0.05, 0.05, 158, 337),
        (0.05, 0.02, 819, 1446),
        (0.10, 0.05, 269, 498),
        (0.20, 0.10, 130, 249),
        (0.35, 0.10, 219, 369),
    ],
)
def test_tasks_that_rule_out_or_detect_a_drop(flip_rate: float, margin: float, rule_out: int, detect: int) -> None:
    assert tasks_to_rule_out(margin, flip_rate) == rule_out
    assert tasks_needed(margin, flip_rate) == detect


def test_without_flips_six_losses_must_be_likely() -> None:
    n = tasks_needed(0.1, 0)
    six_or_more = 1 - sum(comb(n, i) * 0.1**i * 0.9 ** (n - i) for i in range(6))
    assert six_or_more == pytest.approx(detection_power(n, 0.1, 0), abs=1e-12)
    assert six_or_more >= 0.8


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_critical_numbers_separate_what_the_test_rejects(alpha: float) -> None:
    for m, k in zip(range(40, 700), _critical_recoveries(40, alpha), strict=False):
        assert k == _most_recoveries(m, alpha)
        assert k < 0 or mcnemar_exact(m - k, k) < alpha
        assert mcnemar_exact(m - k - 1, k + 1) >= alpha


@pytest.mark.parametrize("alpha", [1e-12, 1e-17, 1e-300])
def test_the_smallest_levels_have_a_detectable_drop(alpha: float) -> None:
    # All tasks but the flips must break: with n tasks the smallest two-sided p is 2^(1 - n).
    assert (detectable_drop(30, alpha=alpha) is None) == (alpha <= 2.0**-29)
    assert detectable_drop(2000, alpha=alpha) is not None
    k = _most_recoveries(2000, alpha)
    assert mcnemar_exact(2000 - k, k) < alpha <= mcnemar_exact(1999 - k, k + 1)


def test_a_million_tasks_are_planned_for() -> None:
    drop = detectable_drop(1_000_000)
    # Normal approximation: (1.960 + .842) sqrt(.05 / 1e6) = .00063
    assert drop == ceil(0.00063 * 10_000) / 10_000


@pytest.mark.parametrize(("drop", "flip_rate"), [(0.9, 0.2), (0.1, -0.1), (0.1, 1), (0.1, float("nan"))])
def test_impossible_rates_are_refused(drop: float, flip_rate: float) -> None:
    with pytest.raises(ValueError, match="flip_rate"):
        tasks_needed(drop, flip_rate)
