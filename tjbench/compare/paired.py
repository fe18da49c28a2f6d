"""Two runs of the same tasks, one sample each: b tasks went from pass to fail, c from fail to pass, n were compared.

Differences are (c - b) / n, proportions, negative where the second run is worse.
"""

from __future__ import annotations

from math import comb, exp, inf, log, sqrt

from tjbench.compare.arguments import check_counts, check_fraction, check_pairs
from tjbench.compare.distributions import (
    EXACT_UP_TO,
    beta_cdf,
    binomial_sum,
    binomial_upper_limit,
    bisect,
    half_cdf,
    half_pmf,
    log_binomial_pmf,
    log_half_cdf,
    normal_quantile,
)


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p of the exact McNemar test: twice P(Bin(b + c, 1/2) <= min(b, c)), at most 1.

    McNemar (1947), in its exact conditional form. Raises ValueError for anything but counts.
    """
    check_counts(b=b, c=c)
    return min(1.0, 2 * half_cdf(min(b, c), b + c))


def mcnemar_one_sided(b: int, c: int) -> float:
    """One-sided p against a regression: P(Bin(b + c, 1/2) <= c), small when far more tasks broke than recovered."""
    check_counts(b=b, c=c)
    return half_cdf(c, b + c)


def mcnemar_mid_p(b: int, c: int) -> float:
    """Two-sided mid-p: the exact p without half the probability of the observed split.

    Fagerland, Lydersen, Laake (2013), BMC Med Res Methodol 13:91. Information only: its true level can pass alpha.
    """
    check_counts(b=b, c=c)
    k, m = min(b, c), b + c
    return min(1.0, 2 * half_cdf(k, m) - half_pmf(k, m))


def delta_wald(b: int, c: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wald interval of the difference: d +- z sqrt(b + c - (c - b)^2 / n) / n, not clipped to [-1, 1].

    It may contradict the exact test, and is a point when b + c = 0; decisions use `delta_score`.
    """
    check_pairs(b, c, n)
    check_fraction(confidence=confidence)
    if n == 0:
        return -1.0, 1.0
    half_width = normal_quantile((1 + confidence) / 2) * sqrt(max(b + c - (c - b) ** 2 / n, 0.0)) / n
    return (c - b) / n - half_width, (c - b) / n + half_width


def delta_score(b: int, c: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Tango's score interval of the difference, which excludes 0 exactly when `mcnemar_exact` < 1 - confidence.

    Tango (1998), Statist. Med. 17:891. Where it disagrees with the exact test about 0, the end nearest 0 becomes the
    exact conditional one: m/n (1 - 2 CP), CP the Clopper-Pearson limit of b among the m = b + c discordant pairs.
    """
    check_pairs(b, c, n)
    check_fraction(confidence=confidence)
    if b < c:
        low, high = delta_score(c, b, n, confidence)
        return -high, -low
    z = normal_quantile((1 + confidence) / 2)
    low, high = _tango_lower(b, c, n, z), -_tango_lower(c, b, n, z)
    alpha = round(1 - confidence, 12)
    significant = mcnemar_exact(b, c) < alpha
    if significant != (high < 0):
        m = b + c
        # The lower limit of b among m is one minus the upper limit of c among m.
        exact = m / n * (2 * binomial_upper_limit(c, m, alpha / 2) - 1)
        high = exact if significant else max(exact, 0.0)
    return low, high


def delta_lower_bound(b: int, c: int, n: int, *, confidence: float = 0.95) -> float:
    """One-sided lower bound of the difference: a drop beyond it is ruled out with this confidence.

    Tango's score bound; with c = 0, where that is too optimistic, no higher than minus the Clopper-Pearson upper limit
    of b among n.
    """
    check_pairs(b, c, n)
    check_fraction(confidence=confidence)
    if n == 0:
        return -1.0
    bound = _tango_lower(b, c, n, normal_quantile(confidence))
    return bound if c else min(bound, -binomial_upper_limit(b, n, round(1 - confidence, 12)))


def rules_out_drop(b: int, c: int, n: int, margin: float) -> bool:
    """Whether `delta_lower_bound` lies above -margin, without solving for it."""
    check_pairs(b, c, n)
    check_fraction(margin=margin)
    if n == 0 or _tango_gap(-margin, b, c, n, normal_quantile(0.95)) <= 0:
        return False
    return c > 0 or (b < n and beta_cdf(n - b, b + 1, 1 - margin, margin) < 0.05)


def e_value(b: int, c: int) -> float:
    """Evidence for a regression that may be looked at after every task: under no change P(ever >= 40) <= 1/40.

    2^(m+1) times the integral of x^b (1 - x)^c over [1/2, 1], m = b + c: a likelihood ratio of a uniform prior on
    P(broke | discordant) above 1/2 against 1/2 (Ville's inequality). Infinite where a float cannot hold it.
    """
    check_counts(b=b, c=c)
    m = b + c
    if m <= EXACT_UP_TO:
        numerator, denominator = binomial_sum(b, m + 1), (m + 1) * comb(m, b)
        return numerator / denominator if numerator.bit_length() - denominator.bit_length() < 1023 else inf
    log_e = log_half_cdf(b, m + 1) + log(2 / (m + 1)) - log_binomial_pmf(b, m, 0.5, 0.5)
    return exp(log_e) if log_e < 709 else inf


def _tango_lower(b: int, c: int, n: int, z: float) -> float:
    if b == n:
        return -1.0
    return bisect(lambda delta: _tango_gap(delta, b, c, n, z), -1.0, (c - b) / n)


def _tango_gap(delta: float, b: int, c: int, n: int, z: float) -> float:
    """How far the observed difference lies above delta, beyond z standard errors under delta; times n.

    The standard error uses q, the constrained maximum likelihood estimate of P(pass -> fail): the larger root of
    2n q^2 + B q + C = 0.
    """
    linear = (2 * n - c + b) * delta - b - c
    constant = -b * delta * (1 - delta)
    root = sqrt(max(linear * linear - 8 * n * constant, 0.0))
    q = (root - linear) / (4 * n) if linear <= 0 else -2 * constant / (root + linear)
    return c - b - n * delta - z * sqrt(max(n * (2 * q + delta * (1 - delta)), 0.0))
