"""Brings a tokenjam environment to the wanted version: wheels from the index, or a checkout in the workspace.

tokenjam is foreign code and the workspace is hostile: uv runs without keys, outside the workspace, without any
configuration file, and as the owner of tokenjam's environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tjbench.errors import IncompleteError, UsageError
from tjbench.foreign import owner_of

UPGRADE_SECONDS = 300
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
# Each setting of uv that may pass, with other names that a workflow gives to the same thing.
SETTINGS = {
    "SSL_CERT_FILE": ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "SSL_CERT_DIR": (),
    "UV_DEFAULT_INDEX": ("UV_INDEX_URL", "PIP_INDEX_URL"),
    "UV_INDEX": ("UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
    "UV_INDEX_STRATEGY": (),
    "UV_FIND_LINKS": ("PIP_FIND_LINKS",),
    "UV_INSECURE_HOST": ("PIP_TRUSTED_HOST",),
    "UV_NATIVE_TLS": (),
    "UV_SYSTEM_CERTS": (),
    "UV_HTTP_TIMEOUT": ("PIP_DEFAULT_TIMEOUT",),
    "UV_HTTP_RETRIES": ("PIP_RETRIES",),
}
INDEX_LOGIN = re.compile(r"UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)")
NO_SUCH_VERSION = re.compile(r"no versions? of tokenjam\b|tokenjam was not found in the package registry")
LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A ``tokenjam-version``: the newest, one version, a checkout, or (none of them) what is installed."""

    latest: bool = False
    version: Version | None = None
    checkout: Path | None = None

    @classmethod
    def parse(cls, text: str, *, workspace: Path) -> Wanted:
        """``latest``, ``installed``, a version, or ``path:DIR`` inside ``workspace``; else ``UsageError``."""
        if text == "latest":
            return cls(latest=True)
        if text == "installed":
            return cls()
        if text.startswith("path:"):
            return cls(checkout=_checkout(text.removeprefix("path:"), workspace))
        try:
            return cls(version=Version(text))
        except InvalidVersion as error:
            raise UsageError(
                f"tokenjam-version: {text!r} is not a version of tokenjam",
                why="it is latest, installed, a version such as 0.7.0, or path:DIR",
                fix="set tokenjam-version: latest",
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """uv, and the environment that it changes: the one of ``python``. ``environ`` is the workflow's."""

    uv: Path
    python: Path
    environ: Mapping[str, str]

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
        # Without the reinstallation uv is content with what is there when the index does not have tokenjam.
        complaint = self._install("--upgrade-package", "tokenjam", "--reinstall-package", "tokenjam", "tokenjam")
        if complaint is None:
            return None
        if strict or there is None:
            raise IncompleteError(
                "the newest tokenjam could not be installed",
                why=complaint,
                fix="run the job again when the package index answers",
            )
        return f"the newest tokenjam could not be installed, so {there} from the image was used: {complaint}"

    def _install_version(self, version: Version) -> None:
        complaint = self._install(f"tokenjam=={version}")
        if complaint is None:
            return
        if NO_SUCH_VERSION.search(complaint):
            raise UsageError(
                f"the package index has no tokenjam {version}",
                why=complaint,
                fix="set tokenjam-version: latest, or a version that is listed on the index",
            )
        raise IncompleteError(
            f"tokenjam {version} could not be installed",
            why=complaint,
            fix="run the job again when the package index answers, or set tokenjam-version: installed",
        )

    def _install_checkout(self, directory: Path) -> None:
        """Builds in a copy, since a build writes beside the sources: nothing of it may stay in the workspace."""
        with tempfile.TemporaryDirectory(prefix="tjbench-checkout-") as scratch:
            copy = Path(scratch) / "tokenjam"
            shutil.copytree(directory, copy, symlinks=True)
            owner_of(self.python).hand_over(Path(scratch))
            complaint = self._install(
                "--no-binary",
                "tokenjam",
                "--no-sources",
                "--reinstall-package",
                "tokenjam",
                f"tokenjam @ {copy.as_uri()}",
            )
        if complaint is not None:
            raise IncompleteError(
                f"tokenjam could not be built from {directory}",
                why=complaint,
                fix="path:DIR names a checkout of tokenjam that `pip install DIR` can build",
            )

    def _install(self, *arguments: str) -> str | None:
        """What uv complained of, or ``None`` when all went well."""
        owner = owner_of(self.python)
        with tempfile.TemporaryDirectory(prefix="tjbench-uv-") as scratch:
            owner.hand_over(Path(scratch))
            command = [str(self.uv), "pip", "install", "--no-config", "--no-cache", "--python", str(self.python)]
            try:
                done = subprocess.run(
                    [*command, "--only-binary", ":all:", *arguments],
                    env=uv_environ(self.environ, home=scratch),
                    cwd=scratch,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=UPGRADE_SECONDS,
                    check=False,
                    user=owner.uid,
                    group=owner.gid,
                    extra_groups=owner.extra_groups,
                )
            except subprocess.TimeoutExpired:
                return f"uv did not end within {UPGRADE_SECONDS} s"
        return None if done.returncode == 0 else _complaint(done.stderr.decode("utf-8", "replace"))


def uv_environ(environ: Mapping[str, str], *, home: str) -> dict[str, str]:
    """The whole environment of uv: where the index is and how to reach it, as the workflow says; no keys."""
    picked = {"HOME": home, "TMPDIR": home, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    for name in PROXIES:
        picked |= {spelling: environ[spelling] for spelling in (name, name.lower()) if environ.get(spelling)}
    for name, others in SETTINGS.items():
        value = next((environ[each] for each in (name, *others) if environ.get(each)), None)
        if value is not None:
            picked[name] = value
    return picked | {name: value for name, value in environ.items() if INDEX_LOGIN.fullmatch(name)}


def installed_version(python: Path) -> Version | None:
    """The tokenjam in the environment of ``python``, read from its files: foreign code is not started for it."""
    found = sorted(python.parent.parent.glob("lib/python*/site-packages/tokenjam-*.dist-info/METADATA"))
    return Version(found[0].parent.name.removeprefix("tokenjam-").removesuffix(".dist-info")) if found else None


def _checkout(text: str, workspace: Path) -> Path:
    root = workspace.resolve()
    directory = (root / text).resolve()
    if not text or not directory.is_relative_to(root):
        raise UsageError(
            f"tokenjam-version: path:{text} is not inside the workspace",
            why=f"the workspace is {root}",
            fix="check tokenjam out inside the workspace and name that directory, as in path:tokenjam",
        )
    if not any((directory / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise UsageError(
            f"tokenjam-version: path:{text} is not a Python project",
            why=f"there is no pyproject.toml in {directory}",
            fix="check tokenjam out (actions/checkout with path:) before this step",
        )
    return directory


def _complaint(stderr: str) -> str:
    """uv's own words from its error on, on one line and without logins."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    start = next((number for number, line in enumerate(lines) if line.startswith("error:")), -6)
    text = "; ".join(line.removeprefix("error: ").removeprefix("cause: ") for line in lines[start:])
    return "".join(char for char in LOGIN_IN_URL.sub("", text) if char.isprintable())[:600] or "uv said nothing"
