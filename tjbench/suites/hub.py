"""Rows of a suite that we do not ship: from a local file, or from the Hugging Face hub at a pinned revision."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tjbench.errors import UsageError
from tjbench.suites.entries import Entry, jsonl_entries

# Both libraries read these when they are imported; nothing else of ours imports them.
_QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A split of a dataset on the hub; ``revision`` is a commit, so that its rows never change."""

    repository: str
    configuration: str
    split: str
    revision: str

    def __str__(self) -> str:
        return f"{self.repository}/{self.configuration}, {self.split}, at {self.revision[:12]}"


def rows(suite: str, source: Source, data: Path | None) -> Iterator[Entry]:
    """The rows of ``data`` if it is given, else the hub's. Raises ``UsageError`` where they cannot be read."""
    if data is not None:
        yield from jsonl_entries(data)
        return
    for number, value in enumerate(_downloaded(suite, source), start=1):
        yield Entry(path=Path(str(source)), line=number, value=dict(value))


def _downloaded(suite: str, source: Source) -> list[Mapping[str, object]]:
    local = f"--data FILE, or TJBENCH_DATA_DIR holding {suite}.jsonl or {suite}.jsonl.gz"
    with _quiet():
        try:
            import datasets
        except ImportError as error:
            raise UsageError(
                f"the suite {suite} lives on the hub, and the datasets library is not installed",
                why=str(error),
                fix=f'pip install "tokenjam-bench[datasets]", or give its rows: {local}',
            ) from None
        try:
            found = datasets.load_dataset(
                source.repository, source.configuration, split=source.split, revision=source.revision, token=False
            )
            return list(found)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise UsageError(
                f"the suite {suite} cannot be loaded from the hub",
                why=f"{source}: {error}",
                fix=f"go online once, after which it is cached, or give its rows: {local}",
            ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No telemetry and no progress bars while this lasts; the environment is as it was afterwards."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
