"""`tjb doctor`: what this machine offers a run, found by trying."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO, cast

from tjbench import __version__
from tjbench.errors import ExitCode, TjbError
from tjbench.recommend import find_clashes
from tjbench.sandbox import Box, Level, cores
from tjbench.tokenjam import open_tokenjam

_FOUND = {
    Level.FULL: "every layer holds",
    Level.CONFINED: "code of models runs; some layer is weaker here",
    Level.NONE: "suites that run code of models are refused without --allow-unsandboxed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFinding:
    """``landlock`` is the ABI in use (0: none); ``escapes`` is what a confined process could do that it must not."""

    level: str
    landlock: int
    seccomp: bool
    unprivileged: bool
    escapes: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenJamFinding:
    """``version`` is ``None`` where ``error`` says why it cannot be asked."""

    version: str | None
    lookup: str | None
    python: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that doctor looks at. Of keys only the names of their variables."""

    bench_version: str
    python_version: str
    python: str
    platform: str
    cores: int
    tokenjam: TokenJamFinding
    sandbox: SandboxFinding
    keys: tuple[str, ...]
    clashes: tuple[str, ...]


def tell_findings(*, as_json: bool, environ: Mapping[str, str], cwd: Path, stdout: TextIO) -> ExitCode:
    """`tjb doctor`: look and tell; what is missing is told, never failed on."""
    found = examine(environ, cwd)
    stdout.write(json.dumps(asdict(found), indent=1) + "\n" if as_json else "\n".join([*render(found), ""]))
    return ExitCode.PASSED


def examine(environ: Mapping[str, str], cwd: Path) -> Findings:
    """Starts a box and asks tokenjam."""
    return Findings(
        bench_version=__version__,
        python_version=platform.python_version(),
        python=sys.executable,
        platform=platform.platform(),
        cores=cores(),
        tokenjam=_tokenjam(environ, cwd),
        sandbox=_sandbox(),
        keys=tuple(sorted(name for name, value in environ.items() if name.endswith("_API_KEY") and value.strip())),
        clashes=tuple(find_clashes(environ)),
    )


def render(found: Findings) -> Iterator[str]:
    """The findings in lines for people."""
    yield f"tokenjam-bench {found.bench_version}, Python {found.python_version} ({found.python})"
    yield f"machine: {found.platform}, {found.cores} CPUs"
    tokenjam = found.tokenjam
    if tokenjam.error:
        yield f"tokenjam: {tokenjam.error}"
    else:
        yield f"tokenjam {tokenjam.version}, asked in {tokenjam.python}, recommends by {tokenjam.lookup}"
    box = found.sandbox
    yield f"sandbox: {box.level} ({_FOUND[Level(box.level)]})"
    if box.error:
        yield f"  it does not start: {box.error}"
    else:
        abi = f"ABI {box.landlock}" if box.landlock else "missing"
        yield f"  Landlock {abi}: files, network ports, signals to others"
        yield f"  seccomp filter {'in place' if box.seccomp else 'missing'}: system calls, sockets, new processes"
        yield f"  {'unprivileged' if box.unprivileged else 'root without capabilities'}: the user of each program"
        yield f"  tried from inside: {'; '.join(box.escapes) + ' SUCCEEDED' if box.escapes else 'nothing got out'}"
    yield f"keys: {', '.join(found.keys) or 'none, so models are scripted (mock)'}"
    yield from (f"warning: {clash}" for clash in found.clashes)


def _tokenjam(environ: Mapping[str, str], cwd: Path) -> TokenJamFinding:
    tokenjam = open_tokenjam(environ=environ, cwd=cwd)
    python = str(tokenjam.python)
    try:
        snapshot = tokenjam.snapshot([], trust_overrides=True)
    except TjbError as error:
        return TokenJamFinding(version=None, lookup=None, python=python, error=str(error))
    return TokenJamFinding(version=snapshot.version, lookup=snapshot.lookup, python=python)


def _sandbox() -> SandboxFinding:
    if not hasattr(os, "fork"):
        return _no_sandbox("running a program apart from its tests needs fork")
    try:
        with Box(workers=1) as box:
            layers = box.layers
            return SandboxFinding(
                level=str(box.level),
                landlock=int(str(layers["landlock"])),
                seccomp=bool(layers["seccomp"]),
                unprivileged=bool(layers["unprivileged"]),
                escapes=tuple(map(str, cast("list[str]", layers["escapes"]))),
            )
    except TjbError as error:
        return _no_sandbox(str(error))


def _no_sandbox(why: str) -> SandboxFinding:
    return SandboxFinding(level=str(Level.NONE), landlock=0, seccomp=False, unprivileged=False, escapes=(), error=why)
