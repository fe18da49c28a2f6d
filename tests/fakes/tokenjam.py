"""A tokenjam of our making: as an environment that can be probed, or as what a probe would have found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.fakes.venv import add_package, make_venv
from tjbench.config import ModelSpec
from tjbench.pricing import Rates
from tjbench.tokenjam import Snapshot

VERSION = "9.1.0"
BIG, SMALL = ModelSpec("openai", "big"), ModelSpec("openai", "small")
RECOMMENDED: Mapping[ModelSpec, ModelSpec | None] = {BIG: SMALL}
PRICES: Mapping[ModelSpec, tuple[float, float]] = {BIG: (10.0, 30.0), SMALL: (1.0, 3.0)}
AT = datetime(2026, 1, 2, tzinfo=UTC)

_PRICING = """
from collections import namedtuple
DEFAULT_INPUT_PER_MTOK, DEFAULT_OUTPUT_PER_MTOK = 0.5, 2.0
Row = namedtuple("Row", "input_per_mtok output_per_mtok cache_read_per_mtok cache_write_per_mtok")
PRICES = {prices!r}
def get_rates(provider, model):
    found = PRICES.get((provider, model))
    return Row(*found, 0.0, 0.0) if found else None
"""


def make_tokenjam(
    directory: Path,
    *,
    version: str = VERSION,
    recommended: Mapping[ModelSpec, ModelSpec | None] = RECOMMENDED,
    prices: Mapping[ModelSpec, tuple[float, float]] = PRICES,
) -> Path:
    """An environment whose tokenjam says this; returns its Python, for TJBENCH_TOKENJAM_PYTHON."""
    downgrades: dict[str, dict[str, str]] = {}
    for spec, candidate in recommended.items():
        if candidate:
            downgrades.setdefault(spec.provider, {})[spec.model] = candidate.model
    python = make_venv(directory)
    add_package(
        python,
        {
            "tokenjam/__init__.py": "",
            "tokenjam/core/__init__.py": "",
            "tokenjam/core/pricing.py": _PRICING.format(prices={(s.provider, s.model): p for s, p in prices.items()}),
            "tokenjam/core/optimize.py": f"DOWNGRADE_CANDIDATES = {downgrades!r}\n",
        },
        version=version,
    )
    return python


def snapshot(
    *,
    recommended: Mapping[ModelSpec, ModelSpec | None] = RECOMMENDED,
    prices: Mapping[ModelSpec, tuple[float, float]] = PRICES,
    sources: Mapping[ModelSpec, str] = {},
    overrides: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
) -> Snapshot:
    """What a probe of such a tokenjam finds; ``sources`` names prices that are not its own table's."""
    return Snapshot(
        version=VERSION,
        lookup="map",
        at=AT,
        overrides=overrides,
        ignored_overrides=ignored,
        candidates=recommended,
        rates={
            spec: Rates(
                input=into, output=out, cache_read=0, cache_write=0, source=sources.get(spec, "packaged"), at=AT
            )
            for spec, (into, out) in prices.items()
        },
        placeholder=Rates(input=0.5, output=2.0, cache_read=0, cache_write=0, source="default", at=AT),
    )
