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


_PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
_BACKEND = """
import pathlib, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name, info = "tokenjam-{version}-py3-none-any.whl", "tokenjam-{version}.dist-info/"
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as archive:
        for path in pathlib.Path("tokenjam").rglob("*.py"):
            archive.write(path, path.as_posix())
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tokenjam\\nVersion: {version}\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "")
    return name
"""


def make_tokenjam(
    directory: Path,
    *,
    version: str = VERSION,
    recommended: Mapping[ModelSpec, ModelSpec | None] = RECOMMENDED,
    prices: Mapping[ModelSpec, tuple[float, float]] = PRICES,
) -> Path:
    """An environment whose tokenjam says this; returns its Python, for TJBENCH_TOKENJAM_PYTHON."""
    python = make_venv(directory)
    add_package(python, sources(recommended, prices), version=version)
    return python


def sources(
    recommended: Mapping[ModelSpec, ModelSpec | None] = RECOMMENDED,
    prices: Mapping[ModelSpec, tuple[float, float]] = PRICES,
) -> dict[str, str]:
    """The modules of a tokenjam that says this, by path."""
    downgrades: dict[str, dict[str, str]] = {}
    for spec, candidate in recommended.items():
        if candidate:
            downgrades.setdefault(spec.provider, {})[spec.model] = candidate.model
    return {
        "tokenjam/__init__.py": "",
        "tokenjam/core/__init__.py": "",
        "tokenjam/core/pricing.py": _PRICING.format(prices={(s.provider, s.model): p for s, p in prices.items()}),
        "tokenjam/core/optimize.py": f"DOWNGRADE_CANDIDATES = {downgrades!r}\n",
    }


def make_checkout(
    directory: Path, *, version: str, recommended: Mapping[ModelSpec, ModelSpec | None] = RECOMMENDED
) -> None:
    """The sources of such a tokenjam as a project that any installer can build without an index."""
    files = {**sources(recommended), "pyproject.toml": _PROJECT, "backend.py": _BACKEND.format(version=version)}
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)


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
