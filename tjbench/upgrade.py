"""Brings a tokenjam environment to the wanted version: wheels from the index, or a checkout in the workspace."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tjbench.errors import IncompleteError, UsageError
from tjbench.foreign import owner_of
from tjbench.installer import Installer

NO_SUCH_VERSION = re.compile(
    r"no versions? of tokenjam\b|tokenjam was not found in the package registry|"
    r"No matching distribution found for tokenjam|Could not find a version that satisfies"
)
NONE_AT_ALL = re.compile(r"\(from versions: none\)")
"""What pip says of an index that does not answer, as of one that has no wheel of tokenjam."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A ``tokenjam-version``: the newest, one version, a checkout, or (none of them) what is installed."""

    latest: bool = False
    version: Version | None = None
    checkout: Path | None = None

    @classmethod
    def parse(cls, text: str, *, workspace: Path, name: str = "tokenjam-version:") -> Wanted:
        """``latest``, ``installed``, a version, or ``path:DIR`` inside ``workspace``; else ``UsageError`` about the
        setting ``name``."""
        if text == "latest":
            return cls(latest=True)
        if text == "installed":
            return cls()
        if text.startswith("path:"):
            return cls(checkout=_checkout(text.removeprefix("path:"), workspace, name))
        try:
            return cls(version=Version(text))
        except InvalidVersion as error:
            raise UsageError(
                f"{name} {text!r} is not a version of tokenjam",
                why="it is latest, installed, a version such as 0.7.0, or path:DIR",
                fix=f"write {name} latest",
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """An installer, and the environment that it changes: the one of ``python``."""

    installer: Installer
    python: Path

    def bring(self, wanted: Wanted, *, strict: bool) -> str | None:
        """Install what is wanted; a warning comes back when the newest cannot be had and the one there stands in.

        ``strict`` forbids that. Raises ``UsageError`` for a version that does not exist and ``IncompleteError`` when
        tokenjam cannot be installed.
        """
        there = installed_version(self.python)
        if wanted.latest:
            return self._install_latest(there, strict=strict)
        if wanted.checkout is not None:
            self._install_checkout(wanted.checkout)
        elif wanted.version is not None and wanted.version != there:
            self._install_version(wanted.version)
        return None

    def _install_latest(self, there: Version | None, *, strict: bool) -> str | None:
        complaint = self.installer.install(self.python, "tokenjam", newest=True)
        if complaint is None:
            return None
        if strict or there is None:
            raise IncompleteError(
                "the newest tokenjam could not be installed",
                why=complaint,
                fix="run again when the package index answers",
            )
        return f"the newest tokenjam could not be installed, so {there} from the image was used: {complaint}"

    def _install_version(self, version: Version) -> None:
        complaint = self.installer.install(self.python, f"tokenjam=={version}")
        if complaint is None:
            return
        if NO_SUCH_VERSION.search(complaint) and not NONE_AT_ALL.search(complaint):
            near = " or ".join(map(str, self.installer.nearest(version)))
            raise UsageError(
                f"the package index has no tokenjam {version}",
                why=complaint,
                fix=f"write latest, {near or 'or a version that is listed on the index'}",
            )
        raise IncompleteError(
            f"tokenjam {version} could not be installed",
            why=complaint,
            fix="run again when the package index answers, or take the installed one: installed",
        )

    def _install_checkout(self, directory: Path) -> None:
        """Builds in a copy, since a build writes beside the sources: nothing of it may stay in the workspace."""
        with tempfile.TemporaryDirectory(prefix="tjbench-checkout-") as scratch:
            copy = Path(scratch) / "tokenjam"
            shutil.copytree(directory, copy, symlinks=True)
            owner_of(self.python).hand_over(Path(scratch))
            complaint = self.installer.install(self.python, f"tokenjam @ {copy.as_uri()}", built=True)
        if complaint is not None:
            raise IncompleteError(
                f"tokenjam could not be built from {directory}",
                why=complaint,
                fix="path:DIR names a checkout of tokenjam that `pip install DIR` can build",
            )


def find_installer(python: Path, environ: Mapping[str, str], cache: Path | None = None) -> Installer:
    """uv where it is there, beside us or on the path, else pip, as the owner of the environment of ``python``."""
    beside = Path(sys.prefix) / "bin" / "uv"
    found = beside if beside.exists() else shutil.which("uv", path=environ.get("PATH"))
    return Installer(uv=Path(found) if found else None, environ=environ, owner=owner_of(python), cache=cache)


def installed_version(python: Path) -> Version | None:
    """The tokenjam in the environment of ``python``, read from its files: foreign code is not started for it."""
    found = sorted(python.parent.parent.glob("lib/python*/site-packages/tokenjam-*.dist-info/METADATA"))
    return Version(found[0].parent.name.removeprefix("tokenjam-").removesuffix(".dist-info")) if found else None


def _checkout(text: str, workspace: Path, name: str) -> Path:
    root = workspace.resolve()
    directory = (root / text).resolve()
    if not text or not directory.is_relative_to(root):
        raise UsageError(
            f"{name} path:{text} is not inside the workspace",
            why=f"the workspace is {root}",
            fix="check tokenjam out inside the workspace and name that directory, as in path:tokenjam",
        )
    if not any((directory / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise UsageError(
            f"{name} path:{text} is not a Python project",
            why=f"there is no pyproject.toml in {directory}",
            fix="check tokenjam out (actions/checkout with path:) before this step",
        )
    return directory
