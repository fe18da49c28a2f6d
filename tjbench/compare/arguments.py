"""Checks of what the statistics are given; every refusal names the values."""

from __future__ import annotations

from collections.abc import Iterable


def check_counts(**counts: int) -> None:
    """Raise ValueError unless every count is a non-negative integer."""
    if any(not isinstance(value, int) or value < 0 for value in counts.values()):
        raise ValueError(f"counts must be non-negative integers: {_shown(counts)}")


def check_pairs(b: int, c: int, n: int) -> None:
    """Raise ValueError unless b and c are counts among n pairs."""
    check_counts(b=b, c=c, n=n)
    if b + c > n:
        raise ValueError(f"more discordant pairs than pairs: b={b}, c={c}, n={n}")


def check_fraction(**fractions: float) -> None:
    """Raise ValueError unless every value lies strictly between 0 and 1 (NaN does not)."""
    if any(not isinstance(value, int | float) or not 0 < value < 1 for value in fractions.values()):
        raise ValueError(f"must lie strictly between 0 and 1: {_shown(fractions)}")


def check_integers(values: Iterable[int], name: str) -> None:
    """Raise ValueError naming the first value that is not an integer."""
    for index, value in enumerate(values):
        if not isinstance(value, int):
            raise ValueError(f"{name} must be integers: {name}[{index}]={value!r}")


def _shown(values: dict[str, int] | dict[str, float]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
