"""Several samples a task: pass@k, and tests and intervals on the per-task change in passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, gcd, inf, sqrt

from tjbench.compare.arguments import check_counts, check_fraction, check_integers
from tjbench.compare.distributions import half_cdf, student_quantile


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that at least one of k samples passes, from c passes in n: 1 - C(n - c, k) / C(n, k).

    Chen et al. (2021), arXiv:2107.03374. Raises ValueError unless 0 <= c <= n and 1 <= k <= n.
    """
    check_counts(n=n, c=c, k=k)
    if c > n or not 1 <= k <= n:
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n: n={n}, c={c}, k={k}")
    if c + k > n:
        return 1.0
    fewer, more = sorted((c, k))
    none_passes = 1.0
    for i in range(n - fewer + 1, n + 1):
        none_passes *= 1 - more / i
    return 1 - none_passes


def sign_flip_one_sided(differences: Sequence[int]) -> float:
    """Exact p against a regression: the share of all sign assignments whose sum is at most the observed one.

    `differences` holds, per task, passes in the new run minus passes in the old one, of equally many samples (else both
    scaled to a common number). With one sample a task this is `mcnemar_one_sided`. Fisher's randomization test (1935).
    """
    check_integers(differences, "differences")
    return sign_flip_tail(Counter(differences))


def sign_flip_two_sided(differences: Sequence[int]) -> float:
    """Exact p against any change: the share of sign assignments whose sum is at least as far from 0."""
    check_integers(differences, "differences")
    sign = 1 if sum(differences) <= 0 else -1
    return min(1.0, 2 * sign_flip_tail(Counter(sign * d for d in differences)))


def sign_flip_tail(tally: Mapping[int, int]) -> float:
    """`sign_flip_one_sided` of differences given as {difference: how many tasks}."""
    step = gcd(*tally) or 1
    sizes: Counter[int] = Counter()
    for difference, tasks in tally.items():
        if difference:
            sizes[abs(difference) // step] += tasks
    total = sum(difference // step * tasks for difference, tasks in tally.items())
    gained = (total + sum(size * tasks for size, tasks in sizes.items())) // 2
    tasks = sizes.total()
    if set(sizes) <= {1}:
        return half_cdf(gained, tasks)
    # One big integer holds the polynomial prod(1 + x^size), a fixed number of bits for each coefficient.
    width = tasks + 1
    ways = 1
    for size in sorted(sizes.elements()):
        ways += ways << (size * width)
    mask = (1 << width) - 1
    at_most = sum(ways >> (i * width) & mask for i in range(gained + 1))
    return at_most / (1 << tasks)


def delta_interval_k(
    differences: Sequence[float], confidence: float = 0.95, *, samples: int = 1
) -> tuple[float, float]:
    """Interval of the mean per-task change of the pass rate, clipped to [-1, 1].

    `differences` are changes in passes of `samples` samples a task (with samples = 1: proportions). Student's t over
    tasks (Miller 2024, arXiv:2411.00640) after appending one task that wholly broke and one that wholly recovered
    (Bonett, Price 2012, J Educ Behav Stat 37:479, generalized), which keeps coverage where few tasks differ.
    """
    check_fraction(confidence=confidence)
    mean, half_width = _student(differences, samples, (1 + confidence) / 2)
    return max(-1.0, mean - half_width), min(1.0, mean + half_width)


def lower_bound_k(differences: Sequence[float], confidence: float = 0.95, *, samples: int = 1) -> float:
    """One-sided lower bound that goes with `delta_interval_k`."""
    check_fraction(confidence=confidence)
    mean, half_width = _student(differences, samples, confidence)
    return max(-1.0, mean - half_width)


def _student(differences: Sequence[float], samples: int, level: float) -> tuple[float, float]:
    """Mean with the two pseudo-tasks, and its standard error times the t quantile with n - 1 degrees of freedom."""
    check_counts(samples=samples)
    if samples == 0 or not all(abs(d) <= samples for d in differences):
        worst = next((d for d in differences if not abs(d) <= samples), None)
        raise ValueError(f"a change lies between -samples and samples: change={worst!r}, samples={samples!r}")
    n = len(differences)
    changes = [d / samples for d in differences] + [1.0, -1.0]
    mean = fsum(changes) / (n + 2)
    if n < 2:
        return mean, inf
    error = sqrt(fsum((d - mean) ** 2 for d in changes)) / (n + 2)
    return mean, error * student_quantile(level, n - 1)
