"""What a run paid for, and what it had already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tjbench.report.units import counted, dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Answers asked for now and what they cost, a judge's verdicts included; answers that the journal held, which cost
    nothing now, and what they would cost; and what calls whose usage was never seen may have been billed at most."""

    asked: int = 0
    spent_usd: float = 0.0
    reused: int = 0
    reused_usd: float = 0.0
    unseen_usd: float = 0.0

    @property
    def charged_usd(self) -> float:
        """What counts against a cap."""
        return self.spent_usd + self.unseen_usd

    def lines(self) -> Iterator[str]:
        """Spent now against what it is worth, where the two differ."""
        if self.reused:
            yield (
                f"spent now {dollars(self.spent_usd)}, on {counted(self.asked, 'answer')}; "
                f"{counted(self.reused, 'answer')} came from the journal for $0, worth {dollars(self.reused_usd)}"
            )
        if self.unseen_usd:
            yield (
                f"calls whose answer or usage was not seen may have been billed, at most {dollars(self.unseen_usd)}; "
                "that counts against the cap, and in no other figure"
            )
