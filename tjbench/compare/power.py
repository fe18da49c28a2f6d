"""What a number of tasks can show, and how many tasks a question needs.

Two runs with no true change differ on a share `flip_rate` of the tasks, half of them each way; a true drop adds to the
tasks that break. Probabilities are exact sums over how many tasks differ and which way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import ceil, exp, log, sqrt

from tjbench.compare.arguments import check_counts, check_fraction
from tjbench.compare.distributions import beta_cdf, log_binomial_pmf, normal_quantile
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
    """Fewest tasks with which an unchanged candidate gets `no_significant_regression` with this probability."""
    check_fraction(margin=margin, power=power)
    _check_flip_rate(flip_rate)
    # The probability rises in a sawtooth: search one by one, from below where a normal approximation puts it.
    approximate = flip_rate * ((normal_quantile(0.95) + normal_quantile(power)) / margin) ** 2
    n = max(floor_tasks(margin), int(0.9 * approximate))
    while _rule_out_power(n, margin, flip_rate) < power:
        n += 1
    return n


def detection_power(n: int, drop: float, flip_rate: float = FLIP_RATE, alpha: float = 0.05) -> float:
    """Chance that n tasks with this true drop give b > c and `mcnemar_exact` < alpha."""
    check_counts(n=n)
    check_fraction(alpha=alpha)
    _check_flip_rate(flip_rate)
    differ = drop + flip_rate
    if not 0 <= drop <= differ <= 1:
        raise ValueError(f"drop and flip_rate are proportions that add up to 1 or less: {drop=}, {flip_rate=}")
    likely = _likely(n, differ)
    critical = _critical_recoveries(max(likely[-1], 1), alpha)
    # Beyond some hundred likely counts of differing tasks the power is smooth, and every stride-th is enough.
    stride = 1 + len(likely) // 500
    total = 0.0
    for m in likely[::stride]:
        if critical[m] >= 0:
            total += _pmf(m, n, differ) * _cdf(critical[m], m, flip_rate / 2 / differ)
    return min(1.0, stride * total)


def _rule_out_power(n: int, margin: float, flip_rate: float) -> float:
    recover = flip_rate / 2
    likely = _likely(n, recover)
    total, b = 0.0, -1
    for c in likely:
        while b + c < n and _passes(b + 1, c, n, margin):
            b += 1
        if b >= 0:
            total += _pmf(c, n, recover) * _cdf(b, n - c, recover / (1 - recover))
    return total


def _passes(b: int, c: int, n: int, margin: float) -> bool:
    return b + c <= n and c > _critical_recoveries(b + c, 0.05)[b + c] and rules_out_drop(b, c, n, margin)


def _critical_recoveries(m: int, alpha: float) -> tuple[int, ...]:
    """For each number of differing tasks up to m or more, the most recoveries with which the two-sided test rejects."""
    return _critical_table(1 << m.bit_length(), alpha)


@lru_cache(maxsize=64)
def _critical_table(size: int, alpha: float) -> tuple[int, ...]:
    return tuple(c for c, _ in zip(_critical_values(alpha), range(size + 1), strict=False))


def _critical_values(alpha: float) -> Iterator[int]:
    c, tail, point, m = -1, 0.0, 0.0, 0
    first = 1.0
    while True:
        following = first if c < 0 else point * (m - c) / (c + 1)
        while 2 * (tail + following) < alpha:
            c, tail, point = c + 1, tail + following, following
            following = point * (m - c) / (c + 1)
        yield c
        # One more task: P(<= c) loses half of P(= c); P(= c) of m + 1 tasks follows from that of m.
        tail -= point / 2
        point *= (m + 1) / (2 * (m + 1 - c)) if c >= 0 else 0.0
        m += 1
        first /= 2


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
