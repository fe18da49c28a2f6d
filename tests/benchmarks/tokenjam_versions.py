"""`python -m tests.benchmarks.tokenjam_versions`: every recorded TokenJam version, asked by us, beside its truth table.

Needs the package index and the recorded tables (`$TJBENCH_SHARED_DATA`, else `../shared/data`).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.fakes.shared import ROOT
from tjbench.config import ModelSpec
from tjbench.errors import TjbError
from tjbench.tokenjam import Snapshot
from tjbench.versions import Versions, open_versions

AT = datetime(2026, 11, 29, tzinfo=UTC)
FIELDS = ("input", "output", "cache_read", "cache_write")
DATA = Path(os.environ.get("TJBENCH_SHARED_DATA", ROOT.parent / "shared" / "data")) / "tokenjam"


def differences(found: Snapshot, table: dict[str, Any], rates: dict[str, Any]) -> list[str]:
    """What a version says otherwise than its table."""
    wrong = []
    for name, target in (table["lookup_results"] or {}).items():
        candidate = found.candidates[ModelSpec(*name.split("|", 1))]
        if (candidate.model if candidate else None) != target:
            wrong.append(f"look-up of {name}: {candidate} for {target}")
    for name, rows in rates.items():
        ours, row = found.rates[ModelSpec(*name.split("/", 1))], rows["default"]
        known = ours.source != "default"
        if known != (row is not None) or (row and any(getattr(ours, f) != row[f"{f}_per_mtok"] for f in FIELDS)):
            wrong.append(f"rates of {name}: {ours} for {row}")
    return wrong


def unpriced(found: Snapshot) -> list[str]:
    """Pairs of its map that it recommends and cannot price."""
    pairs = [(original, found.candidates[original]) for original in found.mapped]
    return [
        f"{original} → {candidate}"
        for original, candidate in pairs
        if candidate and "default" in {found.rates[original].source, found.rates[candidate].source}
    ]


def look(version: str, versions: Versions, table: dict[str, Any], rates: dict[str, Any]) -> list[str]:
    """Ask one version, print its line, and return what is wrong."""
    start = time.monotonic()
    specs = [ModelSpec(*name.split("|", 1)) for name in table["lookup_results"] or {}]
    specs += [ModelSpec(*name.split("/", 1)) for name in rates]
    try:
        found = versions.open(version).everything(specs, at=AT)
        wrong = differences(found, table, rates)
    except TjbError as error:
        print(f"{version:8} failed: {error}")
        return [str(error)]
    named = ", ".join(unpriced(found))
    print(
        f"{version:8} {len(table['lookup_results'] or {}):3} look-ups, {len(rates)} rates: "
        f"{len(wrong)} differ; by {found.lookup}; {time.monotonic() - start:.1f} s"
        f"{f'; recommended but unpriced: {named}' if named else ''}"
    )
    return wrong


def main() -> int:
    maps = json.loads((DATA / "candidates_by_version.json").read_text())["versions"]
    rates = json.loads((DATA / "rates_by_version.json").read_text())["versions"]
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tjbench-work-") as work, ExitStack() as scratch:
        versions = open_versions(os.environ, Path(work), scratch)
        for version, table in maps.items():
            held = rates.get(version, {}).get("rates", {})
            wrong += look(version, versions, table, held)
    print(f"{len(maps)} versions, {len(wrong)} differences")
    for line in wrong[:20]:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
