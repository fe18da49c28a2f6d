"""Corrected tests over many rows, from arithmetic and from exhaustive null distributions."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.compare.family import Counts, family_test, tarone_holm, tarone_reject
from tjbench.compare.paired import mcnemar_one_sided
from tjbench.compare.signflip import sign_flip_one_sided


def test_rows_that_could_never_reject_cost_nothing() -> None:
    # Only the first can reach p <= .05 at all, so K = 1; Holm over seven rows would ask for p <= .0071.
    assert tarone_holm([(6, 0), (1, 0)] + [(0, 0)] * 5, 0.05) == [True] + [False] * 6


def test_two_testable_rows_share_alpha() -> None:
    # K = 2, so .025 each: (6, 0) has p = .0156; (5, 0) with p = .03125 follows once the first has been removed.
    assert tarone_holm([(6, 0), (5, 0)], 0.05) == [True, True]
    assert tarone_holm([(6, 1), (5, 0)], 0.05) == [False, False]  # p = .0625 is not removed


def test_nothing_to_test() -> None:
    assert tarone_holm([], 0.05) == []
    result = family_test([])
    assert not result.alarm
    assert (result.pooled_b, result.pooled_c, result.pooled_p) == (0, 0, 1)


def test_a_single_row_has_alpha_whole() -> None:
    assert family_test([Counts(5, 0)]).rejected == (True,)  # p = .03125
    assert family_test([Counts(5, 0), Counts(0, 0)]).rejected == (False, False)


def test_the_pool_finds_what_no_row_shows() -> None:
    result = family_test([Counts(3, 1)] * 7)
    assert result.rejected == (False,) * 7
    assert (result.pooled_b, result.pooled_c) == (21, 7)
    assert result.pooled_p == sum(comb(28, i) for i in range(8)) / 2**28
    assert result.pooled_rejected
    assert result.alarm


def test_changes_per_task_are_counts_when_there_is_one_sample() -> None:
    as_changes = family_test([[-1] * 9 + [1] * 2 + [0] * 39, (0,) * 20 + (-1, 1)])
    assert as_changes == family_test([Counts(9, 2), Counts(1, 1)])


def test_several_samples_are_tested_by_sign_flips() -> None:
    rows = [[-2, -3, 1, 0, -1], [0, 0, -4, -1, -2, -1, -3]]
    result = family_test(rows)
    assert result.p_values == tuple(sign_flip_one_sided(row) for row in rows)
    assert result.pooled_p == sign_flip_one_sided(rows[0] + rows[1])
    assert (result.pooled_b, result.pooled_c) == (8, 1)


@pytest.mark.parametrize("sizes", [(6, 6), (5, 8, 7), (6, 3, 3, 7), (9, 9, 2)])
def test_false_alarms_of_unchanged_rows_stay_below_alpha(sizes: tuple[int, ...]) -> None:
    alarm = rows_alone = 0.0
    for lost in product(*(range(m + 1) for m in sizes)):
        counts = [Counts(b, m - b) for b, m in zip(lost, sizes, strict=True)]
        chance = prod(comb(m, b) / 2**m for b, m in zip(lost, sizes, strict=True))
        alarm += chance * family_test(counts, 0.05).alarm
        rows_alone += chance * any(tarone_holm(counts, 0.05))
    assert alarm <= 0.05
    assert rows_alone <= 0.05


rows = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), min_size=1, max_size=8)


@given(rows)
def test_whatever_holm_rejects_tarone_rejects_too(counts: list[tuple[int, int]]) -> None:
    p_values = [mcnemar_one_sided(b, c) for b, c in counts]
    holm = [False] * len(counts)
    for rank, j in enumerate(sorted(range(len(counts)), key=p_values.__getitem__)):
        if p_values[j] > 0.05 / (len(counts) - rank):
            break
        holm[j] = True
    tarone = tarone_holm(counts, 0.05)
    assert all(ours or not theirs for ours, theirs in zip(tarone, holm, strict=True))
    assert all(p <= 0.05 for p, out in zip(p_values, tarone, strict=True) if out)


@pytest.mark.parametrize(
    ("p_values", "smallest"), [([0.5], []), ([float("nan")], [0.1]), ([0.01], [0.02]), ([1.5], [0.1])]
)
def test_p_values_below_their_smallest_are_refused(p_values: list[float], smallest: list[float]) -> None:
    with pytest.raises(ValueError, match="p_values="):
        tarone_reject(p_values, smallest, 0.05)


def test_bad_rows_and_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="b=-1, c=2"):
        family_test([Counts(-1, 2)])
    with pytest.raises(ValueError, match="alpha=nan"):
        family_test([Counts(1, 2)], float("nan"))
