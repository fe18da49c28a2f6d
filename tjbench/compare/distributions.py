"""Binomial, beta, normal and Student tails, exact where integers allow and accurate to about 1e-14 beyond."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import comb, exp, expm1, lgamma, log, log1p, pi
from statistics import NormalDist

EXACT_UP_TO = 2000


def half_pmf(k: int, m: int) -> float:
    """P(X = k) for X ~ Binomial(m, 1/2)."""
    return comb(m, k) / (1 << m) if m <= EXACT_UP_TO else exp(log_binomial_pmf(k, m, 0.5, 0.5))


def half_cdf(k: int, m: int) -> float:
    """P(X <= k) for X ~ Binomial(m, 1/2): integers up to m = 2000, then the saddle point."""
    if k < 0:
        return 0.0
    if k >= m:
        return 1.0
    if m <= EXACT_UP_TO:
        return binomial_sum(k, m) / (1 << m)
    return exp(log_half_cdf(k, m))


def log_half_cdf(k: int, m: int) -> float:
    """ln P(X <= k) for X ~ Binomial(m, 1/2) and 0 <= k <= m, finite where the probability underflows."""
    if 2 * k >= m:
        return log1p(-exp(log_half_cdf(m - k - 1, m))) if k < m else 0.0
    term = total = 1.0
    for i in range(k, 0, -1):
        term *= i / (m - i + 1)
        total += term
        if term < 1e-17 * total:
            break
    return log_binomial_pmf(k, m, 0.5, 0.5) + log(total)


def binomial_sum(k: int, m: int) -> int:
    """C(m, 0) + ... + C(m, k) for 0 <= k <= m."""
    if 2 * k >= m:
        return (1 << m) - (binomial_sum(m - k - 1, m) if k < m else 0)
    term = total = 1
    for i in range(k):
        term = term * (m - i) // (i + 1)
        total += term
    return total


def log_binomial_pmf(k: float, m: float, p: float, q: float) -> float:
    """ln of C(m, k) p^k q^(m-k) for real 0 <= k <= m and q = 1 - p.

    Loader (2000), "Fast and accurate computation of binomial probabilities": a saddle point that does not cancel.
    """
    if k == 0:
        return m * (log(q) if p > 0.5 else log1p(-p))
    if k == m:
        return m * (log(p) if q > 0.5 else log1p(-q))
    stirling = _stirling_error(m) - _stirling_error(k) - _stirling_error(m - k)
    return stirling - _deviance(k, m * p) - _deviance(m - k, m * q) + 0.5 * log(m / (2 * pi * k * (m - k)))


def _stirling_error(x: float) -> float:
    """ln Gamma(x + 1) minus Stirling's formula."""
    if x <= 15:
        return lgamma(x + 1) - (x + 0.5) * log(x) + x - 0.5 * log(2 * pi)
    y = 1 / (x * x)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - y / 1188) * y) * y) * y) / x


def _deviance(x: float, mean: float) -> float:
    """x ln(x / mean) + mean - x, by series where the terms cancel."""
    if abs(x - mean) >= 0.1 * (x + mean):
        return x * log(x / mean) + mean - x
    v = (x - mean) / (x + mean)
    total, term, odd = (x - mean) * v, 2 * x * v, 1
    while True:
        term *= v * v
        odd += 2
        new = total + term / odd
        if new == total:
            return total
        total = new


def beta_cdf(a: float, b: float, x: float, y: float) -> float:
    """Regularized incomplete beta I_x(a, b), with y = 1 - x given so that neither end loses digits."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_fraction(b, a, y, x)
    return _beta_fraction(a, b, x, y)


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """Continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, by Lentz's method."""
    front = exp(log_binomial_pmf(a, a + b, x, y)) * b / (a + b)
    fraction, c, d = 1.0, 1.0, 0.0
    for j in count(1):
        m = j // 2
        numerator = -(a + m) * (a + b + m) if j % 2 else m * (b - m)
        coefficient = numerator * x / ((a + j - 1) * (a + j))
        d = 1 / (1 + coefficient * d or 1e-300)
        c = 1 + coefficient / c or 1e-300
        fraction *= c * d
        if abs(c * d - 1) < 4e-16:
            break
    return front / fraction


def binomial_upper_limit(x: int, n: int, alpha: float) -> float:
    """Clopper-Pearson upper limit: the p at which P(Binomial(n, p) <= x) = alpha."""
    if x >= n:
        return 1.0
    if x == 0:
        return -expm1(log(alpha) / n)
    return bisect(lambda p: beta_cdf(n - x, x + 1, 1 - p, p) - alpha, x / n, 1.0)


def normal_quantile(p: float) -> float:
    """The z below which a standard normal falls with probability p."""
    return NormalDist().inv_cdf(p)


def student_upper_tail(t: float, df: float) -> float:
    """P(T > t) for Student's t with df degrees of freedom."""
    if t < 0:
        return 1 - student_upper_tail(-t, df)
    square = t * t
    return 0.5 * beta_cdf(df / 2, 0.5, df / (df + square), square / (df + square))


def student_quantile(p: float, df: float) -> float:
    """The t below which Student's t falls with probability p."""
    if p < 0.5:
        return -student_quantile(1 - p, df)
    high = 1.0
    while student_upper_tail(high, df) > 1 - p:
        high *= 2
    return bisect(lambda t: student_upper_tail(t, df) - (1 - p), 0.0, high)


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """The root of a function that is positive at low and negative at high, to the last float between them."""
    while low < (middle := (low + high) / 2) < high:
        if f(middle) > 0:
            low = middle
        else:
            high = middle
    return high
