"""`tjb` as someone types it: in this process, in a directory of its own, with an environment that holds no key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.tokenjam import make_tokenjam
from tjbench.cli.main import main

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "COVERAGE_PROCESS_START")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Commands run in ``root``; ``environ`` is theirs alone."""

    root: Path
    environ: dict[str, str]
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def tjb(self, *words: str) -> Said:
        self.capsys.readouterr()
        with self.monkeypatch.context() as patch:
            patch.chdir(self.root)
            for name in set(os.environ) - set(_KEPT) - {name for name in os.environ if name.startswith("PYTEST")}:
                patch.delenv(name)
            for name, value in self.environ.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(list(words))
        said = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(code=int(ended.value.code), out=said.out, err=said.err)

    def start(self, *words: str, setup: str = "", **environ: str) -> subprocess.Popen[bytes]:
        """The command as a process of its own, which begins with the Python ``setup`` and can be interrupted."""
        env = {"PATH": os.environ["PATH"], **self.environ, **environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        # A shell may have started the tests with interrupts ignored, which a process inherits.
        code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{setup}\n"
        command = [sys.executable, "-c", f"{code}from tjbench.cli.main import main; main()", *words]
        return subprocess.Popen(command, cwd=self.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(happened: Callable[[], bool]) -> None:
    """Waits a minute at most."""
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def open_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Terminal]:
    """A terminal whose tokenjam is of our making; signals are handled as before afterwards."""
    root = tmp_path / "desk"
    root.mkdir()
    environ = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TJBENCH_TOKENJAM_PYTHON": str(make_tokenjam(tmp_path / "tokenjam")),
    }
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield Terminal(root=root, environ=environ, monkeypatch=monkeypatch, capsys=capsys)
    finally:
        signal.signal(signal.SIGTERM, handler)
