"""The last release branch: which one it is, the commit it stood at, and the artifacts it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Protocol

from packaging.version import InvalidVersion, Version

from tjbench.errors import UsageError

_PREFIXES = ("release/", "release-", "releases/", "v")
_ARTIFACT = re.compile(r"tjbench_[^/]*\.json")


class Repository(Protocol):
    """Read access to one repository. Raises UsageError for what the user can mend (no such ref, a token without
    permission), IncompleteError when the answer could not be had."""

    def branches(self) -> list[tuple[str, str]]:
        """Every branch as (name, commit SHA)."""
        ...

    def resolve(self, ref: str) -> str:
        """The full commit SHA of a SHA, branch or tag."""
        ...

    def files(self, sha: str, directory: str) -> dict[str, bytes]:
        """Artifacts that lie directly in ``directory`` at that commit, by path from the repository's root."""
        ...

    def file(self, sha: str, path: str) -> bytes | None:
        """One file at that commit, None when there is none. Symbolic links are not followed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What the head is compared with. ``ref`` and ``sha`` are None, and ``files`` is empty, when there is none;
    ``notes`` say how it was chosen, and go into the report."""

    ref: str | None = None
    sha: str | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBranch:
    """A branch whose name says which release it holds."""

    name: str
    version: Version


def release_branch(name: str) -> ReleaseBranch | None:
    """``release/X``, ``release-X``, ``releases/X`` or ``vX`` with a PEP 440 version X, else None."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            try:
                return ReleaseBranch(name=name, version=Version(name.removeprefix(prefix)))
            except InvalidVersion:
                continue
    return None


def release_branches(names: Iterable[str]) -> list[ReleaseBranch]:
    """The release branches among ``names``, newest first; of equal versions ``release/X`` comes first."""
    found = [branch for name in set(names) if (branch := release_branch(name))]
    found.sort(key=lambda branch: (_spelling(branch.name), branch.name))
    return sorted(found, key=lambda branch: branch.version, reverse=True)


def candidates(names: Iterable[str], *, base_ref: str | None = None, push_ref: str | None = None) -> list[str]:
    """Branches to take the baseline from, in the order to try them.

    A pull request into a release branch (``base_ref``) is measured against that branch, then against the ones below
    it. A run on a release branch (``push_ref``) is measured against the ones below it. Both follow version order, so
    1.0rc1 lies below 1.0. Any other run is measured against the highest final release and the final ones below it;
    pre-releases follow only after all final ones, so that a release candidate is no yardstick while a release is.
    """
    ordered = release_branches(names)
    if base := release_branch(base_ref or ""):
        same = sorted((b for b in ordered if b.version == base.version), key=lambda b: b.name != base.name)
        return [b.name for b in [*same, *(b for b in ordered if b.version < base.version)]]
    if pushed := release_branch(push_ref or ""):
        return [b.name for b in ordered if b.version < pushed.version]
    return [b.name for b in sorted(ordered, key=lambda b: b.version.is_prerelease)]


def is_artifact(name: str) -> bool:
    """True for a file name that an artifact has."""
    return _ARTIFACT.fullmatch(name) is not None


def path_parts(path: str) -> tuple[str, ...]:
    """The steps from the repository's root to ``path``; raises UsageError when it leads out of the repository."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise UsageError(
            f"{path!r} is not inside the repository",
            why="a baseline is read from a commit of the repository",
            fix="give a path relative to the repository's root, for example results",
        )
    return parts


def select_baseline(
    repository: Repository,
    request: str,
    *,
    directory: str = "results",
    branches: Sequence[str] | None = None,
    base_ref: str | None = None,
    push_ref: str | None = None,
) -> Baseline:
    """The baseline for ``auto``, ``branch:NAME``, ``ref:SHA`` or ``none``, with its commit pinned by one look-up.

    ``branches`` are the only ones that ``auto`` tries, in that order; without them it tries the release branches.
    No release branch, or none with artifacts, is no error: a first run has none. A branch or commit that the user
    named and that is absent raises UsageError; an unreadable repository raises IncompleteError.
    """
    kind, _, name = request.strip().partition(":")
    if kind == "none" and not name:
        return Baseline(notes=("no baseline was asked for",))
    path_parts(directory)
    if kind == "auto" and not name:
        heads = dict(repository.branches())
        if branches:
            return _first_filled(repository, heads, branches, directory)
        releases = candidates(heads, base_ref=base_ref, push_ref=push_ref)
        found = _first_filled(repository, heads, releases, directory)
        none = (f"no release branch to compare with among {_listed(heads)}",)
        return found if releases else replace(found, notes=none)
    if kind == "branch" and name:
        return _named_branch(repository, name, directory)
    if kind == "ref" and name:
        sha = repository.resolve(name)
        return _baseline(name, sha, repository.files(sha, directory), directory)
    raise UsageError(
        f"baseline {request!r} is not understood",
        why="it is one of auto, branch:NAME, ref:SHA, path:DIR, none",
        fix="write for example branch:release/1.0",
    )


def _first_filled(repository: Repository, heads: Mapping[str, str], names: Sequence[str], directory: str) -> Baseline:
    """The first of ``names`` that holds artifacts, with a note on each one before it."""
    notes: list[str] = []
    for name in names:
        if name not in heads:
            notes.append(f"branch {name} does not exist")
            continue
        files = repository.files(heads[name], directory)
        if files:
            return Baseline(ref=name, sha=heads[name], files=files, notes=tuple(notes))
        notes.append(f"{name} ({heads[name][:12]}) holds no artifacts in {directory}")
    return Baseline(notes=tuple(notes))


def _named_branch(repository: Repository, name: str, directory: str) -> Baseline:
    heads = dict(repository.branches())
    if name not in heads:
        raise UsageError(
            f"baseline branch {name!r} does not exist",
            why=f"the branches are {_listed(heads)}",
            fix=f"push a branch {name}, or name another one in `baseline`",
        )
    return _baseline(name, heads[name], repository.files(heads[name], directory), directory)


def _baseline(ref: str, sha: str, files: dict[str, bytes], directory: str) -> Baseline:
    notes = () if files else (f"{ref} ({sha[:12]}) holds no artifacts in {directory}",)
    return Baseline(ref=ref, sha=sha, files=files, notes=notes)


def _spelling(name: str) -> int:
    return next(index for index, prefix in enumerate(_PREFIXES) if name.startswith(prefix))


def _listed(names: Iterable[str], most: int = 20) -> str:
    shown = list(_capped(sorted(names), most))
    return ", ".join(shown) if shown else "none at all"


def _capped(names: list[str], most: int) -> Iterator[str]:
    yield from names[:most]
    if len(names) > most:
        yield f"and {len(names) - most} more"
