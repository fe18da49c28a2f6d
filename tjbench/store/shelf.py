"""A directory of artifacts seen by its labels, so that thousands are sorted before any is read whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from tjbench.compare.artifact import Artifact, Instant, ReplayRecord, RowKey, ShardRecord, too_many_unscored
from tjbench.config import SpecText
from tjbench.errors import UsageError
from tjbench.store.artifacts import MAX_BYTES, PATTERN, Loaded, load_path, parse_artifact
from tjbench.store.files import read_regular
from tjbench.store.legacy import is_legacy


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What an artifact says of itself: its row, when it was measured, whether it is complete. Its numbers are not
    looked into before ``Shelf.load`` reads it whole."""

    name: str
    key: RowKey
    tokenjam_version: str
    created_at: datetime
    incomplete: bool
    uncontrolled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Labels by file name and the files that are no artifacts with why; ``rejected`` grows by what ``load`` refuses."""

    labels: Mapping[str, Label]
    rejected: dict[str, str]
    directory: Path = Path()
    held: Mapping[str, Artifact] = field(default_factory=dict)

    @classmethod
    def holding(cls, loaded: Loaded) -> Shelf:
        """Artifacts that are read already."""
        labels = {name: label_of(artifact, name) for name, artifact in loaded.artifacts.items()}
        return cls(labels=labels, rejected=dict(loaded.rejected), held=loaded.artifacts)

    def load(self, label: Label) -> Artifact | None:
        """The whole artifact, checked against its tasks; ``None`` where it is none, which is listed then."""
        if label.name in self.held:
            return self.held[label.name]
        try:
            return parse_artifact(_content(self.directory / label.name), label.name)
        except UsageError as error:
            self.rejected[label.name] = error.why or error.what
            return None


def open_shelf(directory: Path) -> Shelf:
    """The labels of every artifact directly in ``directory``, or of one file, where a bad one is fatal.

    Raises ``UsageError`` for a path that does not exist and for a named file that is no artifact.
    """
    if directory.exists() and not directory.is_dir():
        return Shelf.holding(load_path(directory))
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}", fix="name one that holds tjbench_*.json artifacts")
    labels, rejected = {}, {}
    for path in sorted(directory.glob(PATTERN)):
        try:
            labels[path.name] = read_label(_content(path), path.name)
        except UsageError as error:
            rejected[path.name] = error.why or error.what
    return Shelf(labels=labels, rejected=rejected, directory=directory)


def label_of(artifact: Artifact, name: str) -> Label:
    """The label of an artifact that is read already."""
    return Label(
        name=name,
        key=artifact.key,
        tokenjam_version=artifact.tokenjam_version,
        created_at=artifact.created_at,
        incomplete=artifact.incomplete,
        uncontrolled=artifact.uncontrolled,
    )


def read_label(content: bytes, name: str) -> Label:
    """The label of one file. Raises ``UsageError`` where it has none; the older format is read whole."""
    try:
        data = from_json(content)
    except ValueError as error:
        raise UsageError(f"{name} is not an artifact", why=f"not JSON: {error}"[:300]) from error
    if not isinstance(data, dict) or is_legacy(data):
        return label_of(parse_artifact(content, name), name)
    try:
        said = _Said.model_validate(data)
    except ValidationError:
        return label_of(parse_artifact(content, name), name)  # which says what is wrong with it
    if said.shard:
        return label_of(parse_artifact(content, name), name)
    return Label(
        name=name,
        key=said.key,
        tokenjam_version=said.tokenjam_version,
        created_at=said.created_at,
        incomplete=too_many_unscored(said.n_unscored, said.n_tasks, said.unscored_tolerance_pct),
        uncontrolled=said.replay is not None and not said.replay.control,
    )


class _Named(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    schema_: Literal["tjbench/1"] = Field(default="tjbench/1", alias="schema")
    suite: _Named
    original_model: SpecText
    slot: str
    tokenjam_version: str
    created_at: Instant
    n_tasks: int
    n_unscored: int
    unscored_tolerance_pct: float = 5.0
    shard: ShardRecord | None = None
    replay: ReplayRecord | None = None

    @cached_property
    def key(self) -> RowKey:
        return RowKey(self.suite.name, self.original_model, self.slot)


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
