"""The statistics that tjbench promises to importers, and the verdict they add up to.

Everywhere b counts tasks that went from pass to fail and c from fail to pass; a bad argument raises ValueError naming
the values. docs/statistics.md explains the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt

from tjbench.compare.arguments import check_counts, check_fraction, check_pairs
from tjbench.compare.distributions import normal_quantile
from tjbench.compare.family import Counts, FamilyResult, family_test, tarone_holm, tarone_reject
from tjbench.compare.paired import (
    delta_lower_bound,
    delta_score,
    delta_wald,
    e_value,
    mcnemar_exact,
    mcnemar_mid_p,
    mcnemar_one_sided,
    rules_out_drop,
)
from tjbench.compare.power import detectable_drop, detection_power, floor_tasks, tasks_needed, tasks_to_rule_out
from tjbench.compare.samples import (
    delta_interval_k,
    lower_bound_k,
    pass_at_k,
    smallest_task_drop_p,
    task_drop_p,
)
from tjbench.compare.signflip import cost_regression_p, sign_flip_one_sided, sign_flip_two_sided

__all__ = [
    "MIN_TASKS",
    "Counts",
    "FamilyResult",
    "Verdict",
    "cost_regression_p",
    "delta_interval_k",
    "delta_lower_bound",
    "delta_score",
    "delta_wald",
    "detectable_drop",
    "detection_power",
    "e_value",
    "family_test",
    "floor_tasks",
    "lower_bound_k",
    "mcnemar_exact",
    "mcnemar_mid_p",
    "mcnemar_one_sided",
    "pass_at_k",
    "sign_flip_one_sided",
    "sign_flip_two_sided",
    "smallest_task_drop_p",
    "tarone_holm",
    "tarone_reject",
    "task_drop_p",
    "tasks_needed",
    "tasks_to_rule_out",
    "verdict",
    "verdict_k",
    "wilson_interval",
]

MIN_TASKS = 10
"""Below this many tasks no verdict but `insufficient_evidence` is given."""


class Verdict(StrEnum):
    """What a comparison shows about the candidate."""

    NO_SIGNIFICANT_REGRESSION = "no_significant_regression"
    SIGNIFICANT_REGRESSION = "significant_regression"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a pass rate; [0, 1] when n = 0. Wilson (1927), JASA 22:209."""
    check_counts(successes=successes, n=n)
    check_fraction(confidence=confidence)
    if successes > n:
        raise ValueError(f"more successes than tasks: successes={successes}, n={n}")
    if n == 0:
        return 0.0, 1.0
    z = normal_quantile((1 + confidence) / 2)
    centre = successes + z * z / 2
    half_width = z * sqrt(successes * (n - successes) / n + z * z / 4)
    low = (centre - half_width) / (n + z * z) if successes > 0 else 0.0
    high = (centre + half_width) / (n + z * z) if successes < n else 1.0
    return low, high


def verdict(b: int, c: int, n: int, margin: float = 0.10, alpha: float = 0.05) -> Verdict:
    """Judge n tasks of one sample each: a regression is shown, a drop of `margin` is ruled out, or neither.

    In this order: fewer than 10 tasks show nothing; b > c and `mcnemar_exact` < alpha is a regression; at least
    `floor_tasks(margin)` tasks and `delta_lower_bound` > -margin rule the drop out at 95 %, whatever alpha is.
    """
    check_pairs(b, c, n)
    check_fraction(margin=margin, alpha=alpha)
    if n < MIN_TASKS:
        return Verdict.INSUFFICIENT_EVIDENCE
    if b > c and mcnemar_exact(b, c) < alpha:
        return Verdict.SIGNIFICANT_REGRESSION
    if n >= floor_tasks(margin) and rules_out_drop(b, c, n, margin):
        return Verdict.NO_SIGNIFICANT_REGRESSION
    return Verdict.INSUFFICIENT_EVIDENCE


def verdict_k(differences: Sequence[int], samples: int, margin: float = 0.10, alpha: float = 0.05) -> Verdict:
    """Judge tasks of `samples` samples each, from per-task changes in passes; the same rule as `verdict`.

    The exact test is `sign_flip_two_sided`, the bound `lower_bound_k`.
    """
    check_fraction(margin=margin, alpha=alpha)
    bound = lower_bound_k(differences, samples=samples)
    p = sign_flip_two_sided(differences)
    if len(differences) < MIN_TASKS:
        return Verdict.INSUFFICIENT_EVIDENCE
    if sum(differences) < 0 and p < alpha:
        return Verdict.SIGNIFICANT_REGRESSION
    if len(differences) >= floor_tasks(margin) and bound > -margin:
        return Verdict.NO_SIGNIFICANT_REGRESSION
    return Verdict.INSUFFICIENT_EVIDENCE
