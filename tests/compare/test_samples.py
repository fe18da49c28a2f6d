"""pass@k against exact fractions, and the interval for several samples."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.compare.samples import (
    delta_interval_k,
    lower_bound_k,
    pass_at_k,
    smallest_task_drop_p,
    task_drop_p,
)
from tjbench.compare.signflip import cost_regression_p


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


# One task of several samples


@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_a_tasks_own_p_is_the_share_of_all_ways_to_deal_its_passes(samples: int) -> None:
    for before in range(samples + 1):
        for after in range(samples + 1):
            deals = list(combinations(range(2 * samples), before + after))
            as_bad = sum(sum(place >= samples for place in deal) <= after for deal in deals)
            assert task_drop_p(before, after, samples) == pytest.approx(as_bad / len(deals), rel=1e-12)


def test_the_smallest_p_of_a_task_is_that_of_the_worst_split() -> None:
    for samples in (1, 3, 5):
        for passes in range(2 * samples + 1):
            splits = [(passes - k, k) for k in range(samples + 1) if 0 <= passes - k <= samples]
            smallest = min(task_drop_p(before, after, samples) for before, after in splits)
            assert all(smallest_task_drop_p(before, after, samples) == smallest for before, after in splits)


@pytest.mark.parametrize("counts", [(-1, 0, 3), (4, 0, 3), (0, 4, 3), (1.5, 0, 3), (float("nan"), 0, 3)])
def test_a_task_with_impossible_passes_is_refused_with_its_values(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"before={counts[0]!r}, after={counts[1]!r}"):
        task_drop_p(*counts)


def test_the_smallest_p_of_more_passes_than_samples_is_refused_with_the_values() -> None:
    with pytest.raises(ValueError, match="before=4, after=0, samples=3"):
        smallest_task_drop_p(4, 0, 3)


def test_a_cost_that_is_none_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"before\[1\]=1\.0, after\[1\]=nan"):
        cost_regression_p([1.0, 1.0], [1.0, float("nan")])
