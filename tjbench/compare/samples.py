"""Several samples a task: pass@k, and the mean change of the pass rate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, fsum, inf, sqrt

from tjbench.compare.arguments import check_counts, check_fraction
from tjbench.compare.distributions import student_quantile


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


def task_drop_p(before: int, after: int, samples: int) -> float:
    """One-sided p that one task got less reliable: `before` and `after` passes of `samples` samples each.

    Fisher's exact test (1935): of the before + after passes among 2 samples, the chance that no more than `after` fall
    to the second run, a hypergeometric tail. With few samples it cannot be small: 1 / C(2 samples, samples) at best.
    """
    _check_passes(before, after, samples)
    return _hypergeometric_tail(before + after, after, samples)


def _check_passes(before: int, after: int, samples: int) -> None:
    check_counts(before=before, after=after, samples=samples)
    if max(before, after) > samples:
        raise ValueError(f"more passes than samples: before={before}, after={after}, samples={samples}")


@lru_cache(maxsize=1 << 14)
def _hypergeometric_tail(passes: int, at_most: int, samples: int) -> float:
    fewest = max(0, passes - samples)
    ways = sum(comb(samples, k) * comb(samples, passes - k) for k in range(fewest, at_most + 1))
    return ways / comb(2 * samples, passes)


def smallest_task_drop_p(before: int, after: int, samples: int) -> float:
    """The smallest `task_drop_p` that this many passes in all could have given."""
    _check_passes(before, after, samples)
    return task_drop_p(min(samples, before + after), max(0, before + after - samples), samples)


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
