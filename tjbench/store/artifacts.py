"""Artifacts on disk: written once and whole, read with care."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel
from tjbench.compare.derived import contradictions, unpriced
from tjbench.errors import UsageError
from tjbench.store.files import read_regular, unwritten
from tjbench.store.legacy import is_legacy, read_legacy

PATTERN = "tjbench_*.json"
MAX_BYTES = 64 << 20
_FIX = "name another directory: --out, or results-dir in the action"


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
    suite = _slug(artifact.suite.name.removesuffix(".jsonl"), "suite")
    version = _slug(artifact.tokenjam_version, "unknown")
    return f"tjbench_{suite}_tj{version}_{artifact.created_at:%Y%m%dT%H%M%SZ}-{short_id}.json"


def _slug(text: str, otherwise: str) -> str:
    """A part of a file name; what a foreign program or a user named may hold anything."""
    return re.sub(r"[^A-Za-z0-9.+!-]+", "-", text).strip("-.")[:80] or otherwise


def write_artifact(artifact: Artifact, directory: Path) -> Path:
    """Write atomically under a name of its own; an existing file is never replaced. Raises ``UsageError``, and
    ``IncompleteError`` where the disk is full."""
    make_directory(directory)
    text = dump(artifact)
    try:
        handle, name = tempfile.mkstemp(dir=directory, prefix=".tjbench_", suffix=".tmp")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o644)
            return _named(temporary, artifact)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unwritten(directory, error, _FIX) from error


def _named(temporary: Path, artifact: Artifact) -> Path:
    """Give the written file a name that no other has, in one step."""
    for _ in range(8):
        target = temporary.with_name(file_name(artifact, secrets.token_hex(3)))
        with suppress(FileExistsError):
            _name(temporary, target)
            return target
    raise UsageError(f"cannot name a new artifact in {temporary.parent}", why="every name tried exists")


def _name(temporary: Path, target: Path) -> None:
    """Raises ``FileExistsError`` where the name is taken."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems (FAT, SMB, FUSE) have no links: reserve the name, then rename over the reservation.
        target.touch(0o644, exist_ok=False)
        temporary.replace(target)


def require_directory(directory: Path) -> None:
    """Refuse, and make nothing yet, where ``make_directory`` would fail or the directory take no file."""
    if directory.is_symlink():
        raise UsageError(f"{directory} is a symbolic link", why="artifacts are not written through links", fix=_FIX)
    place = directory.absolute()
    above = next(step for step in (place, *place.parents) if os.path.lexists(step))
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except NotADirectoryError as error:
        raise UsageError(f"cannot write to {directory}", why=f"{above} is no directory", fix=_FIX) from error
    except OSError as error:
        raise unwritten(directory, error, _FIX) from error


def make_directory(directory: Path) -> None:
    """Create ``directory``; a link in its place is refused, since it could lead anywhere."""
    require_directory(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(directory, error, _FIX) from error


def dump(artifact: Artifact) -> str:
    """The artifact as indented JSON with its tasks one a line, so that a diff shows the task that changed."""
    data = artifact.model_dump(mode="json", by_alias=True)
    tasks = data.pop("tasks")
    head = json.dumps(data, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(task, ensure_ascii=False)}" for task in tasks)
    return f'{head},\n "tasks": [\n{lines}\n ]\n}}\n'


def parse_artifact(content: bytes, name: str) -> Artifact:
    """Read one whole measurement, ours or of the older format. Raises ``UsageError`` naming the file and what is wrong;
    a shard is no measurement."""
    artifact = parse_any(content, name)
    if artifact.shard:
        part = f"shard {artifact.shard.index} of {artifact.shard.count}"
        raise UsageError(
            f"{name} is a part of a measurement", why=f"a shard: merge it first ({part})", fix="tjb merge DIR --out DIR"
        )
    return artifact


def parse_any(content: bytes, name: str) -> Artifact:
    """Read one artifact, whole or a shard. Raises ``UsageError`` naming the file and what is wrong."""
    artifact, data = parse_claims(content, name)
    if not is_legacy(data) and (broken := _contradiction(artifact)):
        raise UsageError(f"{name} is not an artifact", why=broken)
    return artifact


def parse_claims(content: bytes, name: str) -> tuple[Artifact, dict[str, Any]]:
    """One artifact whose counts may not follow from its tasks, and the file's own words. Raises ``UsageError``."""
    try:
        data = json.loads(content)
        if b"\\ud" in content or b"\\uD" in content:
            json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no text: it cannot be shown
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not an artifact", why=f"not JSON: {error}"[:300]) from error
    if not isinstance(data, dict):
        raise UsageError(f"{name} is not an artifact", why="not a JSON object")
    try:
        artifact = read_legacy(data) if is_legacy(data) else Artifact.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        said = str(first["msg"]).removeprefix("Value error, ")
        raise UsageError(f"{name} is not an artifact", why=": ".join(filter(None, (where, said)))[:300]) from error
    except KeyError as error:
        raise UsageError(f"{name} is not an artifact", why=f"it lacks {error}") from error
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{name} is not an artifact", why=f"{type(error).__name__}: {error}"[:300]) from error
    twice = [task_id for task_id, count in Counter(t.task_id for t in artifact.tasks).items() if count > 1]
    if twice:
        raise UsageError(f"{name} is not an artifact", why=f"task id {twice[0]!r} stands in it twice")
    return artifact, data


def _contradiction(artifact: Artifact) -> str:
    """What the file says of its tasks that its tasks do not bear out; empty where all is well."""
    try:
        wrong = contradictions(artifact)
    except (ValueError, ArithmeticError) as error:
        return f"nothing follows from its tasks: {error}"
    if not wrong:
        return ""
    first = wrong[0]
    if missing := unpriced(artifact):
        return f"it has no rates of {', '.join(missing)}"
    return f"{first.field} is {first.stored}, its tasks make {first.recomputed}"


def load_path(path: Path) -> Loaded:
    """Artifacts directly in a directory, where a bad file is listed, or one file, where it is fatal.

    Raises ``UsageError`` for a path that does not exist and for a named file that is no artifact.
    """
    if path.exists() and not path.is_dir():
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
    return parse_artifact(_content(path), str(path))


def read_parts(paths: Sequence[Path]) -> tuple[dict[Path, Artifact], dict[Path, str]]:
    """The shards that ``paths`` name and those in the directories among them, and files there that are none with why.

    Raises ``UsageError`` for a path that does not exist and for a named file that is no shard.
    """
    parts: dict[Path, Artifact] = {}
    rejected: dict[Path, str] = {}
    for path in dict.fromkeys(found.resolve() for found in paths):
        if not path.exists():
            raise UsageError(f"there is no {path}", fix="name shards, or a directory that holds them")
        if not path.is_dir():
            artifact = parse_any(_content(path), str(path))
            if artifact.shard is None:
                raise UsageError(f"{path} is no shard", why="it is a whole measurement", fix="leave it out")
            parts[path] = artifact
            continue
        for found in sorted(path.rglob(PATTERN)):
            try:
                artifact = parse_any(_content(found), str(found))
            except UsageError as error:
                rejected[found] = error.why or error.what
                continue
            if artifact.shard is None:
                rejected[found] = "no shard but a whole measurement"
            else:
                parts[found] = artifact
    return parts, rejected


def read_claims(path: Path) -> tuple[Artifact, dict[str, Any]]:
    """Read the artifact that the user named, to hold its words against its tasks."""
    return parse_claims(_content(path), str(path))


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
