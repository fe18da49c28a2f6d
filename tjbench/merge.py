"""`tjb merge`: the shards of a split run become the measurement that one machine would have made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from tjbench.errors import ExitCode
from tjbench.merged import Merged, merge_shards
from tjbench.report.markdown import render_artifact
from tjbench.store.artifacts import dump


def tell_merge(paths: Sequence[Path], out: Path, *, as_json: bool, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Merge and tell: people read stderr under ``--json`` and stdout otherwise. Exits 3 where too many tasks of one
    measurement are unscored."""
    merged = merge_shards(paths, out)
    people = stderr if as_json else stdout
    for path, artifact in merged.artifacts.items():
        people.write(f"{render_artifact(artifact).rstrip()}\n\nartifact: {path}\n")
    people.write(f"the shards spent ${merged.spent_usd:.4f} in all\n")
    for path, why in merged.skipped.items():
        print(f"skipped {path}: {why}", file=stderr)
    if as_json:
        stdout.write(json.dumps(_document(merged), indent=1) + "\n")
    incomplete = any(artifact.incomplete for artifact in merged.artifacts.values())
    return ExitCode.INCOMPLETE if incomplete else ExitCode.PASSED


def _document(merged: Merged) -> dict[str, object]:
    return {
        "artifacts": [{"path": str(path), **json.loads(dump(a))} for path, a in merged.artifacts.items()],
        "spent_usd": merged.spent_usd,
        "skipped": {str(path): why for path, why in merged.skipped.items()},
    }
