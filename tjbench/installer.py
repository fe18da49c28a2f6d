"""Puts tokenjam into an environment: uv where it is there, else pip; wheels only, without keys, outside the workspace.

tokenjam is foreign code and the workspace is hostile: neither tool reads a configuration file, and both run as the
owner of tokenjam's environment.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tjbench.errors import IncompleteError
from tjbench.foreign import Owner

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
PIP_SPELLING = {
    "SSL_CERT_FILE": "PIP_CERT",
    "UV_DEFAULT_INDEX": "PIP_INDEX_URL",
    "UV_INDEX": "PIP_EXTRA_INDEX_URL",
    "UV_FIND_LINKS": "PIP_FIND_LINKS",
    "UV_INSECURE_HOST": "PIP_TRUSTED_HOST",
    "UV_HTTP_TIMEOUT": "PIP_DEFAULT_TIMEOUT",
    "UV_HTTP_RETRIES": "PIP_RETRIES",
}
INDEX_LOGIN = re.compile(r"UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)")
LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")
WHEELS = ("--only-binary", ":all:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """uv, or pip where ``uv`` is ``None``; ``environ`` is the workflow's. Without ``cache`` uv keeps nothing."""

    uv: Path | None
    environ: Mapping[str, str]
    owner: Owner
    cache: Path | None = None

    def make(self, directory: Path) -> Path:
        """An empty environment of this interpreter's version; returns its Python."""
        interpreter = getattr(sys, "_base_executable", None) or sys.executable
        made = (
            [str(self.uv), "venv", "--quiet", "--no-config", "--no-cache", "--python", interpreter, str(directory)]
            if self.uv
            else [interpreter, "-I", "-m", "venv", str(directory)]
        )
        if complaint := self._complaint(made):
            raise IncompleteError("no environment could be made for tokenjam", why=complaint)
        return directory / "bin" / "python"

    def install(self, python: Path, requirement: str, *, newest: bool = False, built: bool = False) -> str | None:
        """What the tool complained of, or ``None``. ``newest`` never keeps what is there; ``built``: from sources."""
        words = [*self._command(python, "install"), *WHEELS]
        if newest and self.uv:
            # Without the reinstallation uv is content with what is there when the index does not have tokenjam.
            words += ["--upgrade-package", "tokenjam", "--reinstall-package", "tokenjam"]
        elif newest:
            words += ["--upgrade"]
        if built:
            words += ["--no-binary", "tokenjam"]
            words += ["--no-sources", "--reinstall-package", "tokenjam"] if self.uv else ["--force-reinstall"]
        return self._complaint([*words, requirement])

    def newest(self) -> Version:
        """The newest final release on the index. Raises ``IncompleteError`` where it cannot be asked."""
        found, complaint = self._resolved("tokenjam")
        if found is None:
            raise IncompleteError(
                "the newest tokenjam could not be found out",
                why=complaint,
                fix="run again when the package index answers, or name a version",
            )
        return found

    def nearest(self, version: Version) -> list[Version]:
        """The versions on the index just below and just above one that it does not have."""
        below, _ = self._resolved(f"tokenjam<{version.public}")
        above, _ = self._resolved(f"tokenjam>{version.public}", lowest=True)
        return [found for found in (below, above) if found]

    def _resolved(self, requirement: str, *, lowest: bool = False) -> tuple[Version | None, str]:
        if self.uv is None:
            return self._resolved_by_pip(requirement, lowest=lowest)
        words = [str(self.uv), "pip", "compile", "-", "--no-config", "--quiet", "--no-deps", "--no-header"]
        words += ["--no-annotate", *WHEELS, "--refresh-package", "tokenjam", "--python", sys.executable]
        words += self._caching()
        done = self._run([*words, *(["--resolution", "lowest"] if lowest else [])], said=requirement)
        if isinstance(done, str):
            return None, done
        found = re.search(r"^tokenjam==(\S+)", done.stdout.decode("utf-8", "replace"), re.MULTILINE)
        return (Version(found[1]), "") if found else (None, complaint_of(done.stderr))

    def _resolved_by_pip(self, requirement: str, *, lowest: bool) -> tuple[Version | None, str]:
        with tempfile.TemporaryDirectory(prefix="tjbench-pip-") as scratch:
            python: Path | str = sys.executable
            if find_spec("pip") is None:  # as in an environment of pipx
                self.owner.hand_over(Path(scratch))
                python = self.make(Path(scratch) / "env")
            return self._asked_of_pip(str(python), requirement, lowest=lowest)

    def _asked_of_pip(self, python: str, requirement: str, *, lowest: bool) -> tuple[Version | None, str]:
        words = [python, "-I", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", *WHEELS]
        # pip takes the highest only, but names all versions where none fits.
        asked = f"{requirement},<0" if lowest else requirement
        done = self._run([*words, "--quiet", "--report", "-", asked])
        if isinstance(done, str):
            return None, done
        if lowest or done.returncode != 0:
            return _lowest_named(done.stderr, requirement) if lowest else None, complaint_of(done.stderr)
        return Version(json.loads(done.stdout)["install"][0]["metadata"]["version"]), ""

    def _command(self, python: Path, verb: str) -> list[str]:
        if self.uv is None:
            return [str(python), "-I", "-m", "pip", verb, "--no-cache-dir", "--quiet"]
        return [str(self.uv), "pip", verb, "--no-config", *self._caching(), "--python", str(python)]

    def _caching(self) -> list[str]:
        return ["--no-cache"] if self.cache is None else ["--cache-dir", str(self.cache)]

    def _complaint(self, command: Sequence[str]) -> str | None:
        done = self._run(command)
        if isinstance(done, str):
            return done
        return None if done.returncode == 0 else complaint_of(done.stderr)

    def _run(self, command: Sequence[str], said: str = "") -> subprocess.CompletedProcess[bytes] | str:
        """The finished process, or why there is none."""
        tool = "uv" if self.uv else "pip"
        with tempfile.TemporaryDirectory(prefix="tjbench-install-") as scratch:
            self.owner.hand_over(Path(scratch))
            told = uv_environ(self.environ, home=scratch)
            try:
                return subprocess.run(
                    command,
                    env=told if self.uv else pip_environ(told),
                    cwd=scratch,
                    input=said.encode(),
                    capture_output=True,
                    timeout=UPGRADE_SECONDS,
                    check=False,
                    user=self.owner.uid,
                    group=self.owner.gid,
                    extra_groups=self.owner.extra_groups,
                )
            except subprocess.TimeoutExpired:
                return f"{tool} did not end within {UPGRADE_SECONDS} s"
            except OSError as error:
                return f"{tool} could not be started: {error.strerror or error}"


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


def pip_environ(told: Mapping[str, str]) -> dict[str, str]:
    """The same for pip, which also is told to read no configuration file."""
    spelled = {PIP_SPELLING[name]: value for name, value in told.items() if name in PIP_SPELLING}
    kept = {name: value for name, value in told.items() if not name.startswith("UV_")}
    return {**kept, **spelled, "PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def complaint_of(stderr: bytes) -> str:
    """The tool's own words from its error on, on one line and without logins."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    start = next((number for number, line in enumerate(lines) if line.lower().startswith("error:")), -6)
    said = [line.removeprefix("error: ").removeprefix("ERROR: ").removeprefix("cause: ") for line in lines[start:]]
    text = "; ".join(said)
    return "".join(char for char in LOGIN_IN_URL.sub("", text) if char.isprintable())[:600] or "it said nothing"


def _lowest_named(stderr: bytes, requirement: str) -> Version | None:
    """Of the versions that pip says there are, the lowest final one that fits."""
    listed = re.search(r"from versions: ([^)]*)\)", stderr.decode("utf-8", "replace"))
    bound = Version(requirement.partition(">")[2])
    found = []
    for name in listed[1].split(", ") if listed else []:
        try:
            found.append(Version(name))
        except InvalidVersion:
            continue
    return min((version for version in found if version > bound and not version.is_prerelease), default=None)
