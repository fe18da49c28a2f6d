"""Tokens and their price: the usage record of one call, the rates of one model, and the dollars they make."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls in four disjoint buckets: ``input`` excludes cached tokens, ``output`` includes
    reasoning tokens."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Prices of one model in USD per million tokens, as TokenJam states them at the instant ``at``.

    ``source`` is ``packaged`` (TokenJam's table), ``override`` (the user's own file) or ``default`` (TokenJam's
    placeholder for a model it does not know: the numbers are a guess and every result says so). A cache rate that
    TokenJam does not specify is priced as TokenJam prices it (0.0) and marked by ``*_specified``.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_read_specified: bool = True
    cache_write_specified: bool = True
    source: str
    at: datetime


def counts_cache_as_free(usage: Usage, rates: Rates) -> bool:
    """Whether cached tokens were used that TokenJam has no rate for, so that they cost nothing here."""
    return bool(
        (usage.cache_read and not rates.cache_read_specified) or (usage.cache_write and not rates.cache_write_specified)
    )


def cost_usd(usage: Usage, rates: Rates) -> float:
    """Dollars for ``usage`` under ``rates``, equal to ``tokenjam.core.cost.calculate_cost``: 8 decimals, each bucket
    divided before it is multiplied, since the order decides which way a tie rounds."""
    dollars = (
        usage.input / 1_000_000 * rates.input
        + usage.output / 1_000_000 * rates.output
        + usage.cache_read / 1_000_000 * rates.cache_read
        + usage.cache_write / 1_000_000 * rates.cache_write
    )
    return round(dollars, 8)
