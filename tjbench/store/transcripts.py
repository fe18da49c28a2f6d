"""What was said, beside the artifact: gzipped JSON lines that are never committed or uploaded by default."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol


class Line(Protocol):
    """One answer as a JSON object."""

    def as_json(self) -> dict[str, object]: ...


def write_transcripts(answers: Iterable[Line], artifact: Path) -> Path:
    """Write one line an answer to ``<artifact>.transcripts.jsonl.gz``, readable by the owner only from the start."""
    path = artifact.with_suffix(".transcripts.jsonl.gz")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as raw, gzip.open(raw, "wt", encoding="ascii") as file:
        for answer in answers:
            file.write(json.dumps(answer.as_json()) + "\n")
    return path
