"""Counting samples: what passes at k, what counts in no rate, and which classes of exceptions there were."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from tjbench.scoring.score import PASSED, Cause, failed
from tjbench.scoring.tally import Tally

WRONG = failed(Cause.WRONG_ANSWER, "expected 1, got 2")
BROKEN = failed(Cause.HARNESS, "the tests pass what cannot cross")


def tally(**marks: str) -> Tally:
    """By task a mark a sample: ``p`` passed, ``f`` failed, ``u`` unscored."""
    made = Tally()
    for task, samples in marks.items():
        for mark in samples:
            made.add(task, {"p": PASSED, "f": WRONG, "u": BROKEN}[mark])
    return made


def drawn(samples: str, k: int) -> float:
    """pass@k by its meaning: the share of all draws of k samples in which one passes."""
    return fmean("p" in draw for draw in combinations(samples, k))


def test_pass_at_k_is_the_share_of_draws_with_a_pass_averaged_over_tasks() -> None:
    marks = {"a": "pffff", "b": "pppff", "c": "fffff"}
    totals = tally(**marks).totals()
    assert set(totals.pass_at_k) == {"1", "2", "4", "5"}
    for k, value in totals.pass_at_k.items():
        assert value == pytest.approx(fmean(drawn(samples, int(k)) for samples in marks.values()))
    assert totals.pass_at_1 == pytest.approx((1 / 5 + 3 / 5 + 0) / 3)


def test_k_goes_up_to_the_fewest_samples_of_a_task() -> None:
    made = tally(a="p" * 250, b="f" * 100)
    assert list(made.pass_at_k()) == [1, 2, 4, 8, 10, 16, 32, 64, 100]
    assert set(made.pass_at_k().values()) == {0.5}


def test_a_task_of_one_sample_leaves_pass_at_1_alone() -> None:
    assert tally(a="pp", b="f").pass_at_k() == {1: 0.5}


def test_unscored_samples_count_in_no_rate() -> None:
    totals = tally(a="pfu", b="pu", c="uu").totals()
    assert (totals.n_tasks, totals.n_samples) == (3, 7)
    assert (totals.passed, totals.failed, totals.unscored) == (2, 1, 4)
    assert totals.pass_at_k == {"1": pytest.approx((1 / 2 + 1) / 2)}
    assert totals.causes == {"harness": 4, "wrong_answer": 1}


def test_without_a_scored_sample_there_is_no_rate() -> None:
    totals = tally(a="u").totals()
    assert (totals.pass_at_1, totals.pass_at_k) == (None, {})
    assert Tally().totals().n_samples == 0


def test_exceptions_are_counted_by_class() -> None:
    made = Tally()
    details = [
        "KeyError: 'k' at `assert candidate(1)`",
        "KeyError",
        "odd_one: x",
        "RecursionError at `candidate(1)`",
        "the answer ended its own process",
    ]
    for detail in details:
        made.add("a", failed(Cause.EXCEPTION, detail))
    made.add("a", failed(Cause.ASSERTION, "AssertionError at `assert f(1)`"))
    totals = made.totals()
    assert totals.causes == {"exception": 5, "assertion": 1}
    assert totals.exceptions == {"KeyError": 2, "odd_one": 1, "RecursionError": 1, "other": 1}


def test_endless_classes_are_not_kept() -> None:
    made = Tally()
    for n in range(1000):
        made.add("a", failed(Cause.EXCEPTION, f"Mine{n}: x"))
    assert len(made.exceptions) == 101
    assert made.exceptions.total() == 1000
