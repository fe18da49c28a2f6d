"""What two versions of TokenJam say differently: recommendations, and prices with the date from which each holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tjbench.pricing import Rates

PRICE_FIELDS = ("input", "output", "cache_read", "cache_write")
Dated = Sequence[tuple[datetime | None, Rates]]
"""A model's prices, oldest first, each with its first instant (``None``: always)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One original's candidate before and after; ``None`` where none is recommended. Models are ``provider:model``."""

    original: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """One price in USD per million tokens that differs from ``effective`` on (``None``: at any time); ``None`` where a
    version has no price."""

    model: str
    field: str
    before: float | None
    after: float | None
    effective: datetime | None


def recommendations_changed(
    before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> tuple[Recommendation, ...]:
    """Every original whose candidate differs, in the order of ``after`` and then of ``before``."""
    originals = dict.fromkeys([*after, *before])
    return tuple(
        Recommendation(original=name, before=before.get(name), after=after.get(name))
        for name in originals
        if before.get(name) != after.get(name)
    )


def prices_changed(before: Mapping[str, Dated], after: Mapping[str, Dated]) -> tuple[PriceChange, ...]:
    """Every price that differs, over the union of both versions' dates; a difference that goes on is said once."""
    found: list[PriceChange] = []
    for model in dict.fromkeys([*after, *before]):
        old, new = before.get(model, ()), after.get(model, ())
        starts = sorted({start for start, _ in (*old, *new) if start is not None})
        for field in PRICE_FIELDS:
            last: tuple[float | None, float | None] | None = None
            for start in (None, *starts):
                pair = _price(old, field, start), _price(new, field, start)
                if pair[0] != pair[1] and pair != last:
                    change = PriceChange(model=model, field=field, before=pair[0], after=pair[1], effective=start)
                    found.append(change)
                last = pair
    return tuple(found)


def price_at(prices: Dated, at: datetime) -> Rates | None:
    """The rates in force at ``at``."""
    held = [rates for start, rates in prices if start is None or start <= at]
    return held[-1] if held else None


def _price(prices: Dated, field: str, start: datetime | None) -> float | None:
    """A cache rate that is not specified is no price."""
    held = prices[:1] if start is None else [step for step in prices if step[0] is None or step[0] <= start]
    if not held:
        return None
    rates = held[-1][1]
    if field.startswith("cache") and not getattr(rates, f"{field}_specified"):
        return None
    value: float = getattr(rates, field)
    return value
