"""A run split over machines: which part of its tasks one of them takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tjbench.errors import UsageError

MOST = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Every ``count``-th task from the ``index``-th (from 1), in suite order and after any limit."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str, prefix: str = "--") -> Shard:
        """Read ``I/N``; ``prefix`` spells the name in the error. Raises ``UsageError``."""
        found = re.fullmatch(r"\s*([0-9]{1,4})\s*/\s*([0-9]{1,4})\s*", text)
        index, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= index <= count <= MOST:
            raise UsageError(
                f"{prefix}shard {text!r} is no part of a run",
                why=f"it is written I/N, the I-th of N parts, with I from 1 to N and N at most {MOST}",
                fix=f"write {prefix}shard 1/4 for the first of four",
            )
        return cls(index=index, count=count)

    def of(self, whole: Sequence[T]) -> tuple[T, ...]:
        """This part of ``whole``."""
        return tuple(whole[self.index - 1 :: self.count])

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"
