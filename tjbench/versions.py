"""Any version of tokenjam in an environment of its own, made where none is there yet and kept for the next time.

Wheels only, without keys, outside the workspace; what is there already needs no package index.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from tjbench.foreign import owner_of
from tjbench.tokenjam import TokenJam, open_tokenjam
from tjbench.upgrade import Upgrade, Wanted, find_installer, installed_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Opens tokenjam by version. ``cache`` keeps environments by version; ``None``: they end with ``scratch``."""

    environ: Mapping[str, str]
    cwd: Path
    cache: Path | None
    scratch: ExitStack = field(repr=False)

    def open(self, text: str, name: str = "tokenjam-version:") -> TokenJam:
        """The tokenjam of ``latest``, ``installed``, a version, or ``path:DIR``, as the setting ``name`` says.

        Raises ``UsageError`` for a version that does not exist, with those that are near, and ``IncompleteError`` where
        the package index cannot be reached and nothing is there already.
        """
        wanted = Wanted.parse(text, workspace=self.cwd, name=name)
        base = open_tokenjam(environ=self.environ, cwd=self.cwd)
        there = installed_version(base.python)
        if wanted == Wanted() or (wanted.version is not None and wanted.version == there):
            return base
        installer = find_installer(base.python, self.environ, self.cache and self.cache.parent / "uv")
        if wanted.latest:
            wanted = Wanted(version=installer.newest())
            if wanted.version == there:
                return base
        if wanted.version is not None and (kept := self._kept(wanted.version)) is not None:
            return self._opened(kept)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=self._home())) / "env"
        self.scratch.callback(shutil.rmtree, made.parent, ignore_errors=True)
        owner_of(base.python).hand_over(made.parent)
        python = installer.make(made)
        Upgrade(installer=installer, python=python).bring(wanted, strict=True)
        return self._opened(self._keep(made, wanted.version) / "bin" / "python")

    def _opened(self, python: Path) -> TokenJam:
        return open_tokenjam(python, environ=self.environ, cwd=self.cwd)

    def _home(self) -> Path | None:
        if self.cache is not None:
            self.cache.mkdir(parents=True, exist_ok=True)
        return self.cache

    def _kept(self, version: Version) -> Path | None:
        if self.cache is None:
            return None
        python = self.cache / str(version) / "bin" / "python"
        return python if python.exists() and installed_version(python) == version else None

    def _keep(self, made: Path, version: Version | None) -> Path:
        """Move a whole environment to its place at once, so that no half of one is ever found there."""
        if self.cache is None or version is None:
            return made
        place = self.cache / str(version)
        try:
            return made.rename(place)
        except OSError:  # another process was first, or a broken one is there
            return place if self._kept(version) else made


def open_versions(environ: Mapping[str, str], cwd: Path, scratch: ExitStack) -> Versions:
    """Environments under the user's cache; in ``scratch`` where that is in the workspace, which could bring its own, or
    where tokenjam belongs to another user."""
    base = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (HOME may be unset)
    cache = Path(base) / "tjbench" / f"tokenjam-py{sys.version_info.major}{sys.version_info.minor}"
    inside = cache.resolve().is_relative_to(cwd.resolve())
    foreign = owner_of(open_tokenjam(environ=environ, cwd=cwd).python).uid is not None
    return Versions(environ=environ, cwd=cwd, cache=None if inside or foreign else cache, scratch=scratch)
