"""The promised statistics against values computed elsewhere, and the verdict rule."""

from __future__ import annotations

import doctest
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tjbench.compare import stats
from tjbench.compare.distributions import binomial_upper_limit, student_upper_tail
from tjbench.compare.paired import rules_out_drop

SHARED = os.environ.get("TJBENCH_SHARED_DATA")
ORACLE = (Path(SHARED) if SHARED else Path(__file__).parents[3] / "shared" / "data") / "stats-oracle.json"


def clopper_pearson(x: int, n: int, alpha: float) -> tuple[float, float]:
    return 1 - binomial_upper_limit(n - x, n, alpha / 2), binomial_upper_limit(x, n, alpha / 2)


OURS: dict[str, Callable[..., Any]] = {
    "clopper_pearson": clopper_pearson,
    "delta_consistent": stats.delta_score,
    "delta_wald": stats.delta_wald,
    "delta_wald_pp_1dp": lambda b, c, n: [round(100 * end, 1) for end in stats.delta_wald(b, c, n)],
    "e_regress": stats.e_value,
    "mcnemar_midp_two_sided": stats.mcnemar_mid_p,
    "mcnemar_one_sided_regression": stats.mcnemar_one_sided,
    "mcnemar_two_sided": stats.mcnemar_exact,
    "ni_lower_95_one_sided": stats.delta_lower_bound,
    "pass_at_k": stats.pass_at_k,
    "sign_flip_one_sided": lambda d: stats.sign_flip_one_sided(d),
    "t_sf": student_upper_tail,
    "tarone_reject": lambda p, pmin, alpha: stats.tarone_reject(p, pmin, alpha),
    "verdict": stats.verdict,
    "wilson": lambda s, n: stats.wilson_interval(s, n),
    "wilson_conf": lambda s, n, conf: stats.wilson_interval(s, n, conf),
    "wilson_pp_rounded": lambda s, n: [round(100 * end) for end in stats.wilson_interval(s, n)],
}


NOT_SHIPPED = {
    "delta_bonett_price",
    "delta_cond_exact",
    "delta_newcombe10",
    "delta_tango",
    "e_noninf",
    "holm_adjusted",
    "mcnemar_midp_one_sided",
    "paired_t_one_sided",
    "sign_flip_midp",
}
"""Methods that the oracle holds for comparison only."""


def test_every_function_of_the_oracle_is_tested_or_not_shipped() -> None:
    if not ORACLE.exists():
        pytest.skip(f"{ORACLE} is not there")
    assert {case["fn"] for case in json.loads(ORACLE.read_text())["cases"]} == OURS.keys() | NOT_SHIPPED


@pytest.mark.parametrize("name", sorted(OURS))
def test_agrees_with_the_oracle(name: str) -> None:
    if not ORACLE.exists():
        pytest.skip(f"{ORACLE} is not there")
    cases = [case for case in json.loads(ORACLE.read_text())["cases"] if case["fn"] == name]
    assert cases
    for case in cases:
        if case["value"] == "ValueError":
            with pytest.raises(ValueError):
                OURS[name](**case["args"])
        else:
            found = OURS[name](**case["args"])
            expected, tolerance = case["value"], case["tol"]
            if isinstance(expected, float) or (isinstance(expected, list) and not isinstance(expected[0], bool)):
                # Relative as well: an absolute tolerance says nothing about a p of 1e-90.
                assert found == pytest.approx(expected, rel=max(tolerance, 1e-12), abs=0 if tolerance else 1e-12), case
            else:
                assert found == expected, case


def test_every_number_of_the_documentation_comes_out() -> None:
    page = Path(__file__).parents[2] / "docs" / "statistics.md"
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted > 15
    assert results.failed == 0


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.27753), (10, 10, 0.72247, 1), (46, 50, 0.81162, 0.96845)],
)
def test_wilson_intervals(successes: int, n: int, low: float, high: float) -> None:
    assert stats.wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-6)


def test_wilson_of_ten_million_tasks_ends_exactly_at_0_and_1() -> None:
    n, z2 = 10_000_000, 1.959963984540054**2
    low, high = stats.wilson_interval(0, n)
    assert low == 0
    assert high == pytest.approx(z2 / (n + z2), rel=1e-12)
    low, high = stats.wilson_interval(n, n)
    assert low == pytest.approx(n / (n + z2), rel=1e-12)
    assert high == 1


def test_wilson_of_ninety_two_percent_of_fifty_prints_81_to_97() -> None:
    assert [f"{100 * end:.0f}" for end in stats.wilson_interval(46, 50)] == ["81", "97"]


def test_published_humaneval_row_is_a_significant_regression() -> None:
    assert stats.mcnemar_exact(17, 0) == 2**-16
    assert [round(100 * end, 1) for end in stats.delta_wald(17, 0, 50)] == [-47.1, -20.9]
    assert stats.verdict(17, 0, 50) == "significant_regression"


def test_published_gsm8k_row_is_no_significant_regression() -> None:
    assert stats.mcnemar_exact(1, 0) == 1
    assert [round(100 * end, 1) for end in stats.delta_wald(1, 0, 50)] == [-5.9, 1.9]
    assert round(100 * stats.delta_lower_bound(1, 0, 50), 2) == -9.14
    assert stats.verdict(1, 0, 50) == "no_significant_regression"


@pytest.mark.parametrize(("margin", "floor"), [(0.10, 29), (0.05, 59), (0.02, 149), (0.95, 1)])
def test_no_regression_needs_as_many_tasks_as_rule_out_the_margin(margin: float, floor: int) -> None:
    assert stats.floor_tasks(margin) == floor
    assert (1 - margin) ** floor <= 0.05 + 1e-12 < (1 - margin) ** (floor - 1)


@pytest.mark.parametrize(("margin", "floor"), [(0.10, 29), (0.05, 59), (0.02, 149)])
def test_unchanged_runs_pass_from_the_floor_on(margin: float, floor: int) -> None:
    assert stats.verdict(0, 0, floor - 1, margin) is stats.Verdict.INSUFFICIENT_EVIDENCE
    assert stats.verdict(0, 0, floor, margin) is stats.Verdict.NO_SIGNIFICANT_REGRESSION


@pytest.mark.parametrize(
    ("n", "margin", "most_lost"),
    [
        (50, 0.10, [1, 2, 2]),
        (164, 0.10, [9, 10, 11]),
        (164, 0.05, [3, 4, 4]),
        (1319, 0.05, [52, 53, 54]),
        (1319, 0.02, [17, 18, 19]),
    ],
)
def test_most_lost_tasks_with_which_a_margin_is_still_ruled_out(n: int, margin: float, most_lost: list[int]) -> None:
    for recovered, lost in enumerate(most_lost):
        assert stats.delta_lower_bound(lost, recovered, n) > -margin >= stats.delta_lower_bound(lost + 1, recovered, n)
        assert rules_out_drop(lost, recovered, n, margin)
        assert not rules_out_drop(lost + 1, recovered, n, margin)


@pytest.mark.parametrize(
    ("b", "c", "n", "expected"),
    [
        (8, 0, 9, "insufficient_evidence"),  # p = .008, but fewer than ten tasks
        (0, 2, 12, "insufficient_evidence"),  # a lucky small run: its bound is -4.8 pp
        (0, 0, 0, "insufficient_evidence"),
        (7, 2, 50, "insufficient_evidence"),  # bound -20.8 pp
        (5, 0, 50, "insufficient_evidence"),  # p = .0625
        (6, 0, 50, "significant_regression"),  # p = .03125
        (0, 6, 50, "no_significant_regression"),
        (150, 117, 10_000, "significant_regression"),  # p = .04998: never rounded before it is compared
    ],
)
def test_verdicts(b: int, c: int, n: int, expected: str) -> None:
    assert stats.verdict(b, c, n) == expected


def test_a_smaller_alpha_asks_for_more_evidence_of_a_regression() -> None:
    assert stats.verdict(6, 0, 50, alpha=0.05) == "significant_regression"
    assert stats.verdict(6, 0, 50, alpha=0.03) == "insufficient_evidence"


def test_several_samples_follow_the_same_order() -> None:
    assert stats.verdict_k([-5] * 9, 5) == "insufficient_evidence"
    assert stats.verdict_k([-5] * 6 + [0] * 44, 5) == "significant_regression"
    assert stats.verdict_k([0] * 28, 5) == "insufficient_evidence"
    assert stats.verdict_k([-1, 1] + [0] * 98, 5) == "no_significant_regression"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: stats.wilson_interval(3, 2), "successes=3, n=2"),
        (lambda: stats.wilson_interval(1, 2, confidence=1.0), "confidence=1.0"),
        (lambda: stats.mcnemar_exact(-1, 0), "b=-1, c=0"),
        (lambda: stats.mcnemar_one_sided(1, cast(int, 2.0)), "c=2.0"),
        (lambda: stats.mcnemar_mid_p(cast(int, math.nan), 0), "b=nan"),
        (lambda: stats.delta_wald(2, 2, 3), "b=2, c=2, n=3"),
        (lambda: stats.delta_score(2, 2, 3), "b=2, c=2, n=3"),
        (lambda: stats.delta_lower_bound(0, 0, 5, confidence=math.nan), "confidence=nan"),
        (lambda: stats.pass_at_k(3, 2, 5), "n=3, c=2, k=5"),
        (lambda: stats.verdict(1, 1, 50, margin=0), "margin=0"),
        (lambda: stats.verdict(1, 1, 50, alpha=1), "alpha=1"),
        (lambda: stats.verdict(1, 1, 1), "b=1, c=1, n=1"),
        (lambda: stats.verdict_k([3], 2), "change=3"),
        (lambda: stats.sign_flip_one_sided([1, cast(int, 0.5)]), r"differences\[1\]=0.5"),
        (lambda: stats.e_value(cast(int, "1"), 0), "b='1'"),
        (lambda: stats.floor_tasks(1), "margin=1"),
    ],
)
def test_bad_arguments_are_refused_by_value(call: Callable[[], object], shown: str) -> None:
    with pytest.raises(ValueError, match=shown):
        call()
