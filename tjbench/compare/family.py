"""Many rows, one alarm: which rows regressed, with at most alpha chance of any false one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ldexp
from typing import NamedTuple

from tjbench.compare.arguments import check_counts, check_fraction, check_integers
from tjbench.compare.paired import mcnemar_one_sided
from tjbench.compare.signflip import sign_flip_tail


class Counts(NamedTuple):
    """A row of one-sample tasks as b (pass to fail) and c (fail to pass)."""

    b: int
    c: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyResult:
    """One-sided p and corrected decision of every row, in the order given, and of all rows together.

    `pooled_b` and `pooled_c` count the tasks that got worse and better.
    """

    p_values: tuple[float, ...]
    rejected: tuple[bool, ...]
    pooled_b: int
    pooled_c: int
    pooled_p: float
    pooled_rejected: bool

    @property
    def alarm(self) -> bool:
        """Whether anything is rejected; with no change anywhere this has probability at most alpha."""
        return self.pooled_rejected or any(self.rejected)


def family_test(rows: Sequence[Counts | Sequence[int]], alpha: float = 0.05) -> FamilyResult:
    """Test every row by Tarone-Holm at alpha/2 and all of them pooled at alpha/2; a single row has alpha whole.

    A row is `Counts(b, c)`, or the per-task changes in passes (equally many samples on both sides), tested by
    `sign_flip_one_sided`. Rows must not share a candidate's run: count it once.
    """
    check_fraction(alpha=alpha)
    tallies = [_tally(row) for row in rows]
    p_values = [sign_flip_tail(tally) for tally in tallies]
    share = alpha if len(rows) == 1 else alpha / 2
    together: Counter[int] = Counter()
    for tally in tallies:
        together.update(tally)
    pooled_p = sign_flip_tail(together)
    return FamilyResult(
        p_values=tuple(p_values),
        rejected=tuple(tarone_reject(p_values, [_smallest_p(tally) for tally in tallies], share)),
        pooled_b=sum(tasks for change, tasks in together.items() if change < 0),
        pooled_c=sum(tasks for change, tasks in together.items() if change > 0),
        pooled_p=pooled_p,
        pooled_rejected=pooled_p <= share,
    )


def tarone_holm(counts: Sequence[tuple[int, int]], alpha: float) -> list[bool]:
    """Which (b, c) pairs show a regression, with at most alpha chance of any false one among them."""
    for b, c in counts:
        check_counts(b=b, c=c)
    return tarone_reject([mcnemar_one_sided(b, c) for b, c in counts], [ldexp(1, -b - c) for b, c in counts], alpha)


def tarone_reject(p_values: Sequence[float], smallest: Sequence[float], alpha: float) -> list[bool]:
    """Step-down Tarone-Holm: which hypotheses are rejected, given each p and the smallest p it could have reached.

    K is the least k such that at most k hypotheses can reach alpha / k; those with p <= alpha / K are rejected and
    removed, and so on until none is. Hypotheses that could never be rejected cost no alpha. Tarone (1990), Biometrics
    46:515; Hommel, Krummenauer (1998), Biometrics 54:673.
    """
    check_fraction(alpha=alpha)
    if len(p_values) != len(smallest) or not all(0 <= s <= p <= 1 for p, s in zip(p_values, smallest, strict=True)):
        raise ValueError(f"each p needs its smallest value, both in [0, 1]: {p_values=}, {smallest=}")
    left = set(range(len(p_values)))
    while left:
        k = 1
        while sum(smallest[j] <= alpha / k for j in left) > k:
            k += 1
        out = {j for j in left if p_values[j] <= alpha / k}
        if not out:
            break
        left -= out
    return [j not in left for j in range(len(p_values))]


def _tally(row: Counts | Sequence[int]) -> Counter[int]:
    if isinstance(row, Counts):
        check_counts(b=row.b, c=row.c)
        return Counter({-1: row.b, 1: row.c})
    check_integers(row, "differences")
    return Counter(row)


def _smallest_p(tally: Counter[int]) -> float:
    return ldexp(1, -sum(tasks for change, tasks in tally.items() if change))
