"""Sign-flip tests on the per-task change in passes.

Had nothing changed, each task's change could as well have gone the other way: Fisher's randomization test (The Design
of Experiments, 1935), counted in full instead of sampled. Changes are passes in the new run minus passes in the old
one, of equally many samples (else both scaled to a common number). With one sample a task the tests are McNemar's.
"""

from __future__ import annotations

import cmath
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, exp, expm1, gcd, inf, ldexp, log, log1p, pi, sqrt
from random import Random

from tjbench.compare.arguments import check_integers
from tjbench.compare.distributions import bisect, half_cdf

POLYNOMIAL_BITS = 2_000_000
"""Largest polynomial that is multiplied out; beyond it the count is summed over the characteristic function."""


def sign_flip_one_sided(differences: Sequence[int]) -> float:
    """p against a regression: the share of all sign assignments whose sum is at most the observed one."""
    check_integers(differences, "differences")
    return sign_flip_tail(Counter(differences))


def sign_flip_two_sided(differences: Sequence[int]) -> float:
    """p against any change: the share of all sign assignments whose sum is at least as far from 0."""
    check_integers(differences, "differences")
    sign = 1 if sum(differences) <= 0 else -1
    return min(1.0, 2 * sign_flip_tail(Counter(sign * d for d in differences)))


def sign_flip_tail(tally: Mapping[int, int]) -> float:
    """`sign_flip_one_sided` of differences given as {difference: how many tasks}."""
    step = gcd(*tally) or 1
    sizes: Counter[int] = Counter()
    for difference, tasks in tally.items():
        if difference and tasks:
            sizes[abs(difference) // step] += tasks
    gained = sum(difference // step * tasks for difference, tasks in tally.items() if difference > 0)
    return subset_sum_cdf(gained, sizes)


def subset_sum_cdf(total: int, sizes: Counter[int]) -> float:
    """P(sum <= total), each of `sizes` (positive integers, with their counts) being in the sum with probability 1/2."""
    everything = sum(size * tasks for size, tasks in sizes.items())
    if total >= everything:
        return 1.0
    if total < 0:
        return 0.0
    if set(sizes) == {1}:
        return half_cdf(total, everything)
    if 2 * total >= everything:
        return 1.0 - subset_sum_cdf(everything - total - 1, sizes)
    if sizes.total() * everything <= POLYNOMIAL_BITS:
        return _by_polynomial(total, sizes)
    return _by_characteristic_function(total, sizes)


def _by_polynomial(total: int, sizes: Counter[int]) -> float:
    """Coefficients of the product of (1 + x^size), each in a fixed number of bits of one big integer."""
    tasks = sizes.total()
    width = tasks + 1
    keep = (1 << (total + 1) * width) - 1
    ways = 1
    for size in sorted(sizes.elements()):
        ways = (ways + (ways << size * width)) & keep
    mask = (1 << width) - 1
    return sum(ways >> i * width & mask for i in range(total + 1)) / (1 << tasks)


def _by_characteristic_function(total: int, sizes: Counter[int]) -> float:
    """Fourier inversion of the distribution tilted by e^(t sum), t < 0 chosen so that its mean is `total`.

    The tilt keeps the relative error near 1e-13 far into the tail. Sums further than 15 tilted standard deviations from
    the mean carry no weight, so the period of the inversion is little more than 30 of them.
    """
    if total == 0:
        return ldexp(1, -sizes.total())
    tilt = bisect(lambda t: total - sum(m * d * _share(t * d) for d, m in sizes.items()), -100.0, 0.0)
    shares = [(d, m, _share(tilt * d)) for d, m in sizes.items()]
    deviation = sqrt(sum(m * d * d * share * (1 - share) for d, m, share in shares))
    half = ceil(15 * deviation) + 20 * max(sizes)
    log_scale = sum(m * (log1p(exp(tilt * d)) - log(2)) for d, m in sizes.items()) - tilt * total
    weight = expm1(tilt * (half + 1)) / expm1(tilt)
    for j in range(1, half + 1):
        angle = 1j * pi * j / half
        log_phi = sum((m * cmath.log(1 + share * (cmath.exp(angle * d) - 1)) for d, m, share in shares), -angle * total)
        if log_phi.real > -50:
            step = tilt + angle
            geometric = (1 - cmath.exp(step * (half + 1))) / (1 - cmath.exp(step))
            weight += (1 if j == half else 2) * (cmath.exp(log_phi) * geometric).real
    return exp(log_scale) * weight / (2 * half)


def _share(log_odds: float) -> float:
    """Probability with these log odds, at most 0."""
    return exp(log_odds) / (1 + exp(log_odds))


def cost_regression_p(
    before: Sequence[float], after: Sequence[float], *, tolerance: float = 0.05, seed: int = 0, flips: int = 9_999
) -> float:
    """One-sided p against a cost that rose by more than `tolerance` (a proportion), from per-task costs of both runs.

    Sign flips of after - (1 + tolerance) before, drawn `flips` times: (1 + those at least as high) / (1 + flips). Both
    runs are priced with one price table.
    """
    if len(before) != len(after):
        raise ValueError(f"costs pair up: {len(before)} before, {len(after)} after")
    for index, pair in enumerate(zip(before, after, strict=True)):
        if not all(0 <= cost < inf for cost in pair):
            raise ValueError(
                f"costs pair up, finite and not negative: before[{index}]={pair[0]}, after[{index}]={pair[1]}"
            )
    if not 0 <= tolerance < inf or flips < 1:
        raise ValueError(f"tolerance is not negative and flips at least 1: {tolerance=}, {flips=}")
    rises = [new - (1 + tolerance) * old for old, new in zip(before, after, strict=True)]
    # Eight tasks at a time: each of the 256 ways to sign them is summed once, and a random byte picks one.
    tables = [_signed_sums(rises[i : i + 8]) for i in range(0, len(rises), 8)]
    observed = sum(table[-1] for table in tables)
    reached = observed - 1e-12 * sum(map(abs, rises))
    draw = Random(seed)
    hits = sum(
        sum(table[signs] for table, signs in zip(tables, draw.randbytes(len(tables)), strict=True)) >= reached
        for _ in range(flips)
    )
    return (1 + hits) / (1 + flips)


def _signed_sums(values: Sequence[float]) -> list[float]:
    """Sums of up to eight values under each of 256 assignments of signs; the last holds them as they are."""
    return [sum(v if signs >> i & 1 else -v for i, v in enumerate(values)) for signs in range(256)]
