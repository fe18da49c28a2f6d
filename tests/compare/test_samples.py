"""pass@k against exact fractions, and the interval for several samples."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.compare.samples import delta_interval_k, lower_bound_k, pass_at_k


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_one_minus_the_share_of_all_failing_draws(case: tuple[int, int, int]) -> None:
    n, c, k = case
    assert pass_at_k(n, c, k) == pytest.approx(float(1 - Fraction(comb(n - c, k), comb(n, k))), abs=1e-12)


@pytest.mark.parametrize(("n", "c", "k", "value"), [(5, 0, 1, 0), (5, 5, 3, 1), (5, 1, 5, 1), (5, 2, 3, 0.9)])
def test_pass_at_k_values(n: int, c: int, k: int, value: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 2, 5), (3, 4, 1), (3, 1, 0), (0, 0, 1), (3, -1, 1)])
def test_pass_at_k_refuses_what_it_is_not_defined_for(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"n={n}, c={c}, k={k}"):
        pass_at_k(n, c, k)


def test_interval_of_ten_tasks_by_hand() -> None:
    # Ten tasks, one lost by half, with one task wholly lost and one wholly gained appended; t_9 at .975 is 2.262157.
    mean = -0.5 / 12
    error = sqrt(0.5**2 + 1 + 1 - 12 * mean**2) / 12
    expected = (mean - 2.262157 * error, mean + 2.262157 * error)
    assert delta_interval_k([-0.5] + [0] * 9) == pytest.approx(expected, abs=1e-6)
    assert delta_interval_k([-2] + [0] * 9, samples=4) == pytest.approx(expected, abs=1e-6)


def test_one_sided_bound_is_an_end_of_the_ninety_percent_interval() -> None:
    differences = [-1, 0, 0, 1, -2, 0, 0, 0, -1, 0, 0, 0]
    assert lower_bound_k(differences, samples=3) == pytest.approx(delta_interval_k(differences, 0.90, samples=3)[0])


def test_unchanged_tasks_do_not_make_certainty() -> None:
    low, high = delta_interval_k([0] * 50)
    assert low == -high < -0.05


@pytest.mark.parametrize("differences", [[], [0.5]])
def test_fewer_than_two_tasks_rule_nothing_out(differences: list[float]) -> None:
    assert delta_interval_k(differences) == (-1, 1)
    assert lower_bound_k(differences) == -1


@pytest.mark.parametrize(("differences", "samples"), [([1.5], 1), ([float("nan")], 1), ([1], 0), ([3], 2)])
def test_a_change_beyond_the_samples_is_refused(differences: list[float], samples: int) -> None:
    with pytest.raises(ValueError, match="samples="):
        delta_interval_k(differences, samples=samples)
