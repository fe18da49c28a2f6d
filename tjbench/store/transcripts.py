"""What was said, beside the artifact: gzipped JSON lines that are never committed or uploaded by default."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tjbench.errors import UsageError
from tjbench.store.files import unwritten


class Line(Protocol):
    """One answer as a JSON object."""

    def as_json(self) -> dict[str, object]: ...


def write_transcripts(answers: Iterable[Line], artifact: Path) -> Path:
    """Write one line an answer to ``<artifact>.transcripts.jsonl.gz``, readable by the owner only from the start."""
    return write_lines((answer.as_json() for answer in answers), artifact)


def write_lines(lines: Iterable[Mapping[str, object]], artifact: Path) -> Path:
    """Write the lines of ``artifact``'s transcript, one JSON object each, whole or not at all. Raises ``UsageError``
    where there is one already or the place takes none, ``IncompleteError`` where the disk is full."""
    path = transcript_of(artifact)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as raw, gzip.open(raw, "wt", encoding="ascii") as file:
                for line in lines:
                    file.write(json.dumps(line) + "\n")
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritten(path, error, f"the artifact {artifact.name} itself is whole") from error
    return path


def transcript_of(artifact: Path) -> Path:
    """Where the transcript of an artifact lies, if there is one."""
    return artifact.with_suffix(".transcripts.jsonl.gz")


def read_lines(artifact: Path) -> list[dict[str, Any]] | None:
    """The lines of ``artifact``'s transcript; ``None`` without one. Raises ``UsageError`` where it cannot be read."""
    path = transcript_of(artifact)
    if not path.is_file():
        return None
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            return [json.loads(line) for line in file]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} is no transcript", why=str(error), fix="remove it, or copy it again") from error
