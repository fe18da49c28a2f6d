"""Who moved: the candidate alone, the original alone, or both together. Told beside a verdict; it never changes one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tjbench.compare.matrix import COVERAGE_FLOOR, Row
from tjbench.compare.pair import p_text, tasks
from tjbench.compare.stats import sign_flip_one_sided


class Moved(StrEnum):
    """Which of the two models got worse since the baseline."""

    TOGETHER = "together"
    CANDIDATE = "candidate"
    CANDIDATE_FURTHER = "candidate_further"
    ORIGINAL = "original"
    CANNOT_TELL = "cannot_tell"
    NEITHER = "neither"
    NOT_POSSIBLE = "not_possible"


SAYS = {
    Moved.TOGETHER: "moved together: suspect provider or harness",
    Moved.CANDIDATE: "only the candidate moved",
    Moved.CANDIDATE_FURTHER: "both fell, the candidate further than the original",
    Moved.ORIGINAL: "only the original moved: suspect its provider before the candidate",
    Moved.CANNOT_TELL: "cannot tell whether the candidate fell further than the original",
    Moved.NEITHER: "neither model fell significantly",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """One-sided p of the candidate, of the original, and of the candidate's change beyond the original's, the last
    over the ``n`` tasks that both models answered anew. Without a test ``why`` says what is missing."""

    moved: Moved
    n: int = 0
    candidate_p: float | None = None
    original_p: float | None = None
    difference_p: float | None = None
    why: str = ""

    def __str__(self) -> str:
        if self.candidate_p is None or self.original_p is None or self.difference_p is None:
            return f"attribution is not possible: {self.why}"
        return (
            f"{SAYS[self.moved]} (candidate p {p_text(self.candidate_p)}, original p {p_text(self.original_p)}, "
            f"difference p {p_text(self.difference_p)}, {self.n} {tasks(self.n)})"
        )


def attribute(row: Row, alpha: float = 0.05) -> Attribution | None:
    """Hold the candidate's change against the original's; ``None`` for a row that is not compared at all.

    The third test is the exact sign flip of d = (c2 - o2) - (c1 - o1), passes of the candidate minus passes of the
    original, now minus then, task by task: a delta of deltas. All three are one-sided at ``alpha``.
    """
    if row.change is None or row.original_change is None:
        return None
    originals = {pair.task_id: pair for pair in row.overlap.original if pair.scored}
    both = [
        (pair.change, originals[pair.task_id].change)
        for pair in row.overlap.candidate
        if pair.scored and pair.task_id in originals
    ]
    if not both or len(both) < COVERAGE_FLOOR * row.change.n:
        return Attribution(moved=Moved.NOT_POSSIBLE, n=len(both), why=_missing(row, len(both)))
    candidate_p, original_p = row.change.p_one_sided, row.original_change.p_one_sided
    difference_p = sign_flip_one_sided([candidate - original for candidate, original in both])
    return Attribution(
        moved=_moved(candidate_p <= alpha, original_p <= alpha, difference_p <= alpha),
        n=len(both),
        candidate_p=candidate_p,
        original_p=original_p,
        difference_p=difference_p,
    )


def _moved(candidate: bool, original: bool, apart: bool) -> Moved:
    if candidate and original:
        return Moved.CANDIDATE_FURTHER if apart else Moved.TOGETHER
    if candidate:
        return Moved.CANDIDATE if apart else Moved.CANNOT_TELL
    return Moved.ORIGINAL if original else Moved.NEITHER


def _missing(row: Row, n: int) -> str:
    change = row.change
    assert change is not None
    anew = len(row.overlap.original)
    if not anew:
        return "the original's outcomes are reused from a stored artifact and were not measured again"
    return f"the original was measured again and scored on {n} of the {change.n} compared {tasks(change.n)} only"
