"""What a number of tasks can show, and how many tasks a question needs.

Two runs with no true change differ on a share `flip_rate` of the tasks, half of them each way; a true drop adds to the
tasks that break. Probabilities are exact sums over how many tasks differ and which way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import ceil, exp, log, sqrt

from tjbench.compare.arguments import check_counts, check_fraction
from tjbench.compare.distributions import beta_cdf, half_cdf, half_pmf, log_binomial_pmf, normal_quantile
from tjbench.compare.paired import rules_out_drop

FLIP_RATE = 0.05
"""Assumed where no rerun of the same model has measured it."""


def floor_tasks(margin: float) -> int:
    """Fewest tasks with which a drop of `margin` can be ruled out at 95 %: (1 - margin)^n <= 0.05.

    With fewer, a candidate that breaks `margin` of all tasks breaks none of these more than one time in twenty.
    """
    check_fraction(margin=margin)
    return ceil(log(0.05) / log(1 - margin) - 1e-9)


@lru_cache(maxsize=4096)
def detectable_drop(n: int, flip_rate: float = FLIP_RATE, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Smallest true drop that `mcnemar_exact` finds among n tasks with this power (the minimum detectable effect).

    A proportion, rounded up to 0.0001; None where no drop is found that often, as with n < 6 at alpha = 0.05.
    """
    check_counts(n=n)
    _check_flip_rate(flip_rate)
    check_fraction(power=power)
    steps = int((1 - flip_rate) * 10_000)
    if n == 0 or detection_power(n, steps / 10_000, flip_rate, alpha) < power:
        return None
    return _first(lambda step: detection_power(n, step / 10_000, flip_rate, alpha) >= power, 0, steps) / 10_000


def tasks_needed(drop: float, flip_rate: float = FLIP_RATE, alpha: float = 0.05, power: float = 0.8) -> int:
    """Fewest tasks with which `mcnemar_exact` finds a true drop with this power."""
    check_fraction(drop=drop, power=power)
    high = 8
    while detection_power(high, drop, flip_rate, alpha) < power:
        high *= 2
    return _first(lambda n: detection_power(n, drop, flip_rate, alpha) >= power, high // 2, high)


def tasks_to_rule_out(margin: float, flip_rate: float = FLIP_RATE, power: float = 0.8) -> int:
    """Tasks from which on an unchanged candidate gets `no_significant_regression` with at least this probability."""
    check_fraction(margin=margin, power=power)
    _check_flip_rate(flip_rate)
    # The probability rises in a sawtooth whose teeth, one more loss allowed, are about 1 / margin tasks apart: search
    # one by one, from below where a normal approximation puts it, for a whole tooth above the wanted power.
    approximate = flip_rate * ((normal_quantile(0.95) + normal_quantile(power)) / margin) ** 2
    n = first = max(floor_tasks(margin), int(0.98 * approximate))
    while n - first <= 1 / margin:
        if _rule_out_power(n, margin, flip_rate) < power:
            first = n + 1
        n += 1
    return first


def detection_power(n: int, drop: float, flip_rate: float = FLIP_RATE, alpha: float = 0.05) -> float:
    """Chance that n tasks with this true drop give b > c and `mcnemar_exact` < alpha."""
    check_counts(n=n)
    check_fraction(alpha=alpha)
    _check_flip_rate(flip_rate)
    differ = drop + flip_rate
    if not 0 <= drop <= differ <= 1:
        raise ValueError(f"drop and flip_rate are proportions that add up to 1 or less: {drop=}, {flip_rate=}")
    recovers = flip_rate / 2 / differ if differ else 0.5
    k, at_most_k, exactly_k, total = -1, 0.0, 0.0, 0.0
    likely = _likely(n, differ)
    for m, critical in zip(likely, _critical_recoveries(likely.start, alpha), strict=False):
        if k < 0 <= critical:
            k, at_most_k, exactly_k = critical, _cdf(critical, m, recovers), _pmf(critical, m, recovers)
        elif k >= 0:
            # P(recoveries <= k) and P(= k) from those among m - 1 tasks; the critical number grows by one at most.
            at_most_k -= recovers * exactly_k
            exactly_k *= m / (m - k) * (1 - recovers)
            if critical > k:
                k += 1
                exactly_k *= (m - k + 1) / k * recovers / (1 - recovers)
                at_most_k += exactly_k
        total += _pmf(m, n, differ) * at_most_k
    return min(1.0, total)


def _rule_out_power(n: int, margin: float, flip_rate: float) -> float:
    recover = flip_rate / 2
    total, b = 0.0, -1
    for c in _likely(n, recover):
        while _passes(b + 1, c, n, margin):
            b += 1
        if b >= 0:
            total += _pmf(c, n, recover) * _cdf(b, n - c, recover / (1 - recover))
    return total


def _passes(b: int, c: int, n: int, margin: float) -> bool:
    return b + c <= n and c > _most_recoveries(b + c, 0.05) and rules_out_drop(b, c, n, margin)


def _critical_recoveries(m: int, alpha: float) -> Iterator[int]:
    """`_most_recoveries` for m, m + 1, ... differing tasks, each from the one before."""
    k = _most_recoveries(m, alpha)
    while k < 0:
        yield k
        m += 1
        k = _most_recoveries(m, alpha)
    at_most_k, exactly_k = half_cdf(k, m), half_pmf(k, m)
    while True:
        following = exactly_k * (m - k) / (k + 1)
        if 2 * (at_most_k + following) < alpha:
            k, at_most_k, exactly_k = k + 1, at_most_k + following, following
        yield k
        m += 1
        at_most_k -= exactly_k / 2
        exactly_k *= m / (2 * (m - k))


@lru_cache(maxsize=1 << 14)
def _most_recoveries(m: int, alpha: float) -> int:
    """The most recoveries among m differing tasks with which the two-sided test shows a regression; -1 for none."""
    k = max(-1, int((m + normal_quantile(alpha / 2) * sqrt(m)) / 2) - 1)
    while k >= 0 and 2 * half_cdf(k, m) >= alpha:
        k -= 1
    while 2 * half_cdf(k + 1, m) < alpha:
        k += 1
    return k


def _likely(n: int, p: float) -> range:
    """Counts within nine standard deviations of the mean of a binomial (and nine more, where it is skewed)."""
    reach = 9 * sqrt(n * p * (1 - p)) + 9
    return range(max(0, int(n * p - reach)), min(n, ceil(n * p + reach)) + 1)


def _pmf(k: int, n: int, p: float) -> float:
    if p <= 0 or p >= 1:
        return float(k == round(n * p))
    return exp(log_binomial_pmf(k, n, p, 1 - p))


def _cdf(k: int, n: int, p: float) -> float:
    return 1.0 if k >= n else beta_cdf(n - k, k + 1, 1 - p, p)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Smallest number in (low, high] for which a condition holds that, once true, stays true."""
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _check_flip_rate(flip_rate: float) -> None:
    if not 0 <= flip_rate < 1:
        raise ValueError(f"flip_rate is a proportion below 1: {flip_rate!r}")
