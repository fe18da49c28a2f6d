"""Sign-flip tests against brute force over all assignments."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import sqrt
from statistics import NormalDist
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.compare.paired import mcnemar_exact, mcnemar_one_sided
from tjbench.compare.signflip import (
    _by_characteristic_function,
    _by_polynomial,
    cost_regression_p,
    sign_flip_one_sided,
    sign_flip_two_sided,
)

changes = st.lists(st.integers(-6, 6), max_size=9)


@given(changes)
def test_p_is_the_share_of_assignments_at_least_as_bad(differences: list[int]) -> None:
    sums = [sum(signed) for signed in product(*((d, -d) for d in differences))]
    assert sign_flip_one_sided(differences) == sum(s <= sum(differences) for s in sums) / len(sums)
    assert sign_flip_two_sided(differences) == sum(abs(s) >= abs(sum(differences)) for s in sums) / len(sums)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20), st.integers(1, 5))
def test_with_changes_of_one_size_it_is_mcnemar(b: int, c: int, same: int, size: int) -> None:
    differences = [-size] * b + [size] * c + [0] * same
    assert sign_flip_one_sided(differences) == mcnemar_one_sided(b, c)
    assert sign_flip_two_sided(differences) == mcnemar_exact(b, c)


def test_no_change_at_all_is_no_evidence() -> None:
    assert sign_flip_one_sided([]) == sign_flip_one_sided([0, 0, 0]) == sign_flip_two_sided([0]) == 1


@given(st.lists(st.integers(1, 8), min_size=2, max_size=120), st.data())
def test_fourier_inversion_finds_the_counted_share(sizes: list[int], data: st.DataObject) -> None:
    total = data.draw(st.integers(0, (sum(sizes) - 1) // 2))
    tally = Counter(sizes)
    assert _by_characteristic_function(total, tally) == pytest.approx(_by_polynomial(total, tally), rel=1e-10)


def test_pooled_rows_of_fifty_thousand_tasks_take_seconds_at_most() -> None:
    # Two sizes of change, all signs balanced but for 600 more losses of one sample.
    differences = [-1, 1] * 12_000 + [-2, 2] * 12_000 + [-1] * 600
    start = perf_counter()
    p = sign_flip_one_sided(differences)
    assert perf_counter() - start < 5
    # Sums move in steps of 2; the normal tail is taken half a step above -600.
    assert p == pytest.approx(NormalDist(0, sqrt(24_600 + 4 * 24_000)).cdf(-599), rel=1e-3)


def test_costs_that_rose_within_the_tolerance_pass() -> None:
    before = [1.0, 2.0, 3.0, 0.5] * 10
    assert cost_regression_p(before, [1.04 * cost for cost in before]) == 1
    assert cost_regression_p(before, [1.06 * cost for cost in before]) == pytest.approx(1e-4)


@pytest.mark.parametrize("rises", [[3, 1, -2, 4, 1, 1, -1, 2, 2, 5], [1, -1, 2, -2, 3], [4, 4, 4, 4, -1, 2]])
def test_drawn_sign_flips_of_costs_come_near_the_exact_share(rises: list[int]) -> None:
    before = [10.0] * len(rises)
    p = cost_regression_p(before, [10.0 + rise for rise in rises], tolerance=0, seed=1)
    assert p == pytest.approx(sign_flip_one_sided([-rise for rise in rises]), abs=0.02)


def test_the_same_seed_draws_the_same_p() -> None:
    before, after = [1.0, 2.0, 3.0] * 7, [1.5, 2.0, 2.9] * 7
    assert cost_regression_p(before, after, seed=5) == cost_regression_p(before, after, seed=5)


@pytest.mark.parametrize(("before", "after"), [([1.0], []), ([1.0], [-1.0]), ([float("nan")], [1.0])])
def test_costs_must_pair_up_and_be_amounts(before: list[float], after: list[float]) -> None:
    with pytest.raises(ValueError, match="costs pair up"):
        cost_regression_p(before, after)
