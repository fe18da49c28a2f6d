"""What TokenJam recommends, which suites there are, and which versions speak: told without measuring anything."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TextIO

from tjbench import __version__
from tjbench.config import ModelSpec
from tjbench.errors import DOCUMENTATION, ExitCode, TjbError, UsageError
from tjbench.suites import builtin_suites
from tjbench.tokenjam import Snapshot, claimed_saving_pct, open_tokenjam

DISTRIBUTION = "tokenjam-bench"


def tell_recommendations(
    original: str | None,
    *,
    everything: bool,
    as_json: bool,
    environ: Mapping[str, str],
    cwd: Path,
    stdout: TextIO,
) -> ExitCode:
    """`tjb recommend`: one model's recommendation, or TokenJam's whole map."""
    if everything == (original is not None):
        raise UsageError("tjb recommend needs either --original or --all", fix="tjb recommend --all")
    tokenjam = open_tokenjam(environ=environ, cwd=cwd)
    if original is None:
        snapshot = tokenjam.all_recommendations(trust_overrides=True)
    else:
        snapshot = tokenjam.snapshot([ModelSpec.parse(original)], trust_overrides=True)
    found = [recommendation(spec, snapshot) for spec in snapshot.candidates]
    if as_json:
        document = {
            "tokenjam_version": snapshot.version,
            "lookup": snapshot.lookup,
            "at": snapshot.at.isoformat(),
            "overrides": snapshot.overrides,
            "recommendations": found,
        }
        stdout.write(json.dumps(document, indent=1) + "\n")
        return ExitCode.PASSED
    lines = [f"tokenjam {snapshot.version}, prices at {snapshot.at:%Y-%m-%d}, by {snapshot.lookup}"]
    lines += [f"prices are overridden by {name}" for name in snapshot.overrides]
    lines += [_sentence(row) for row in found]
    stdout.write("\n".join(lines) + "\n")
    return ExitCode.PASSED


def recommendation(spec: ModelSpec, snapshot: Snapshot) -> dict[str, object]:
    """One model's recommendation; ``saving_pct`` is what rates imply at 3 input tokens to 1 output token, and is
    ``None`` where a price is a placeholder."""
    candidate = snapshot.candidates[spec]
    saving, why = None, ""
    if candidate is None:
        why = snapshot.why_none(spec)
    else:
        guessed = [str(model) for model in (spec, candidate) if snapshot.rates[model].source == "default"]
        if guessed:
            why = f"tokenjam {snapshot.version} has no price for {' and '.join(guessed)}"
        else:
            saving = claimed_saving_pct(snapshot.rates[spec], snapshot.rates[candidate])
    return {
        "original": str(spec),
        "candidate": None if candidate is None else str(candidate),
        "saving_pct": None if saving is None else round(saving, 2),
        "why": why,
    }


def tell_benchmarks(*, as_json: bool, stdout: TextIO) -> ExitCode:
    """`tjb benchmarks`: the built-in suites with their number of tasks."""
    suites = builtin_suites()
    if as_json:
        found = [{"name": s.name, "n_tasks": s.n_tasks, "description": s.description} for s in suites]
        stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        lines = [f"{suite.name:<12} {suite.n_tasks:>6} tasks  {suite.description}" for suite in suites]
        stdout.write("\n".join([*lines, f"or a suite file of your own: see {DOCUMENTATION}/benchmarks.md", ""]))
    return ExitCode.PASSED


def tell_version(*, as_json: bool, environ: Mapping[str, str], cwd: Path, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """`tjb version`: ours and tokenjam's; a clash with another installation is warned of."""
    try:
        tokenjam = open_tokenjam(environ=environ, cwd=cwd).snapshot([], trust_overrides=True).version
    except TjbError as error:
        tokenjam = None
        print(f"warning: {error}", file=stderr)
    clashes = find_clashes(environ)
    for clash in clashes:
        print(f"warning: {clash}", file=stderr)
    if as_json:
        document = {"bench_version": __version__, "tokenjam_version": tokenjam, "clashes": clashes}
        stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        stdout.write(f"tokenjam-bench {__version__}\ntokenjam {tokenjam or 'not installed'}\n")
    return ExitCode.PASSED


def find_clashes(environ: Mapping[str, str]) -> list[str]:
    """Other installations that answer to our names: tokenjam-bench 0.1 has the same distribution and command."""
    found = []
    versions = {d.version for d in metadata.distributions() if d.metadata["Name"] == DISTRIBUTION} - {__version__}
    if versions:
        found.append(
            f"{DISTRIBUTION} {', '.join(sorted(versions))} is installed in the environment of this {__version__}: "
            f"run pip uninstall {DISTRIBUTION} until it is gone, then install {DISTRIBUTION} again"
        )
    ours = Path(sys.argv[0]).resolve()
    first = shutil.which("tjb", path=environ.get("PATH"))
    if ours.name == "tjb" and first and Path(first).resolve() != ours:
        found.append(
            f"the tjb that comes first on PATH is {first}, not this {ours}: "
            f"remove that one (pipx uninstall {DISTRIBUTION}) or call this one by its path"
        )
    return found


def _sentence(row: Mapping[str, object]) -> str:
    if row["candidate"] is None:
        return str(row["why"])
    saving = f"rates imply {row['saving_pct']} % saved" if row["saving_pct"] is not None else f"unpriced: {row['why']}"
    return f"{row['original']} → {row['candidate']}: {saving}"
