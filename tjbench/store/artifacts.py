"""Artifacts on disk: written once and whole, read with care."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel
from tjbench.errors import UsageError
from tjbench.store.legacy import is_legacy, read_legacy

PATTERN = "tjbench_*.json"
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Artifacts by file name, and the files that are none with the reason why."""

    artifacts: Mapping[str, Artifact]
    rejected: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a run is compared with: where it is from, and what was found there."""

    label: BaselineLabel
    loaded: Loaded


def file_name(artifact: Artifact, short_id: str) -> str:
    """``tjbench_<suite>_tj<version>_<UTC stamp>-<short id>.json``."""
    suite = re.sub(r"[^A-Za-z0-9.-]+", "-", artifact.suite.name.removesuffix(".jsonl")).strip("-.") or "suite"
    return f"tjbench_{suite[:80]}_tj{artifact.tokenjam_version}_{artifact.created_at:%Y%m%dT%H%M%SZ}-{short_id}.json"


def write_artifact(artifact: Artifact, directory: Path) -> Path:
    """Write atomically under a name of its own; an existing file is never replaced."""
    make_directory(directory)
    text = dump(artifact)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=".tjbench_", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        for _ in range(8):
            target = directory / file_name(artifact, secrets.token_hex(3))
            try:
                os.link(temporary, target)
            except FileExistsError:
                continue
            return target
        raise UsageError(f"cannot name a new artifact in {directory}", why="every name tried exists")
    finally:
        Path(temporary).unlink(missing_ok=True)


def make_directory(directory: Path) -> None:
    """Create ``directory``; a link in its place is refused, since it could lead anywhere."""
    if directory.is_symlink():
        raise UsageError(f"{directory} is a symbolic link", why="artifacts are not written through links")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {directory}", why=str(error), fix="name another --out") from error


def dump(artifact: Artifact) -> str:
    """The artifact as indented JSON with its tasks one a line, so that a diff shows the task that changed."""
    data = artifact.model_dump(mode="json", by_alias=True)
    tasks = data.pop("tasks")
    head = json.dumps(data, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(task, ensure_ascii=False)}" for task in tasks)
    return f'{head},\n "tasks": [\n{lines}\n ]\n}}\n'


def parse_artifact(content: bytes, name: str) -> Artifact:
    """Read one artifact, ours or of the older format. Raises ``UsageError`` naming the file and what is wrong."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not an artifact", why=f"not JSON: {error}"[:300]) from error
    if not isinstance(data, dict):
        raise UsageError(f"{name} is not an artifact", why="not a JSON object")
    try:
        artifact = read_legacy(data) if is_legacy(data) else Artifact.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name} is not an artifact", why=f"{where}: {first['msg']}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{name} is not an artifact", why=f"{type(error).__name__}: {error}"[:300]) from error
    _check_ids(artifact, name)
    return artifact


def _check_ids(artifact: Artifact, name: str) -> None:
    seen: set[str] = set()
    for task in artifact.tasks:
        if task.task_id in seen:
            raise UsageError(f"{name} is not an artifact", why=f"task id {task.task_id!r} stands in it twice")
        seen.add(task.task_id)


def load_path(path: Path) -> Loaded:
    """Artifacts directly in a directory, where a bad file is listed, or one file, where it is fatal.

    Raises ``UsageError`` for a path that does not exist and for a named file that is no artifact.
    """
    if path.is_file():
        return Loaded(artifacts={path.name: read_file(path)}, rejected={})
    if not path.is_dir():
        raise UsageError(f"there is no directory {path}", fix="name one that holds tjbench_*.json artifacts")
    artifacts, rejected = {}, {}
    for found in sorted(path.glob(PATTERN)):
        try:
            artifacts[found.name] = read_file(found)
        except UsageError as error:
            rejected[found.name] = error.why or error.what
    return Loaded(artifacts=artifacts, rejected=rejected)


def parse_files(files: Mapping[str, bytes]) -> Loaded:
    """Artifacts by path from their contents; a bad one is listed."""
    artifacts, rejected = {}, {}
    for name, content in files.items():
        try:
            artifacts[name] = parse_artifact(content, name)
        except UsageError as error:
            rejected[name] = error.why or error.what
    return Loaded(artifacts=artifacts, rejected=rejected)


def read_file(path: Path) -> Artifact:
    """Read the artifact that the user named."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is not an artifact", why=f"larger than {MAX_BYTES >> 20} MiB")
        return parse_artifact(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
