"""What doctor finds is there, and no key's value is among it."""

from __future__ import annotations

import io
import json
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.tokenjam import VERSION, make_tokenjam
from tests.fakes.venv import make_venv
from tjbench import doctor
from tjbench.doctor import SandboxFinding, examine, render, tell_findings
from tjbench.errors import ExitCode, IncompleteError
from tjbench.sandbox import Box, detect_level


def environ_of(directory: Path) -> dict[str, str]:
    return {
        "HOME": str(directory),
        "TJBENCH_TOKENJAM_PYTHON": str(make_tokenjam(directory / "tokenjam")),
        "OPENAI_API_KEY": "sk-canary",
        "ANTHROPIC_API_KEY": " ",
        "SHOP_API_KEY": "canary-2",
        "PATH": "",
    }


def test_one_json_document_names_what_is_here(tmp_path: Path) -> None:
    stdout = io.StringIO()
    environ = environ_of(tmp_path)
    assert tell_findings(as_json=True, environ=environ, cwd=tmp_path, stdout=stdout) is ExitCode.PASSED
    found = json.loads(stdout.getvalue())
    assert found["sandbox"]["level"] == detect_level()
    assert (found["tokenjam"]["version"], found["tokenjam"]["error"]) == (VERSION, None)
    assert found["tokenjam"]["python"] == environ["TJBENCH_TOKENJAM_PYTHON"]
    assert found["python_version"] == platform.python_version()
    assert found["keys"] == ["OPENAI_API_KEY", "SHOP_API_KEY"]
    assert found["clashes"] == []
    assert "canary" not in stdout.getvalue()


def test_people_read_the_same(tmp_path: Path) -> None:
    stdout = io.StringIO()
    environ = environ_of(tmp_path)
    tell_findings(as_json=False, environ=environ, cwd=tmp_path, stdout=stdout)
    text = stdout.getvalue()
    assert f"tokenjam {VERSION}, asked in {environ['TJBENCH_TOKENJAM_PYTHON']}" in text
    assert f"sandbox: {detect_level()} (" in text
    assert "keys: OPENAI_API_KEY, SHOP_API_KEY\n" in text
    assert "canary" not in text


def test_a_machine_without_tokenjam_is_told_and_no_failure(tmp_path: Path) -> None:
    python = make_venv(tmp_path / "bare")
    found = examine({"TJBENCH_TOKENJAM_PYTHON": str(python), "HOME": str(tmp_path)}, tmp_path)
    assert found.tokenjam.version is None
    assert "tokenjam is not installed" in (found.tokenjam.error or "")
    text = "\n".join(render(found))
    assert "tokenjam is not installed" in text
    assert "keys: none, so models are scripted (mock)" in text


def test_a_box_that_does_not_start_is_level_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**_: object) -> Box:
        raise IncompleteError("the sandbox process does not start")

    monkeypatch.setattr(doctor, "Box", failing)
    found = examine(environ_of(tmp_path), tmp_path)
    assert (found.sandbox.level, found.sandbox.error) == ("none", "the sandbox process does not start")
    assert "it does not start" in "\n".join(render(found))


def test_what_got_out_is_told(tmp_path: Path) -> None:
    leaking = SandboxFinding(level="none", landlock=0, seccomp=False, unprivileged=False, escapes=("read a file",))
    found = replace(examine(environ_of(tmp_path), tmp_path), sandbox=leaking, clashes=("two of us",))
    text = "\n".join(render(found))
    for words in ("Landlock missing", "seccomp filter missing", "read a file SUCCEEDED", "warning: two of us"):
        assert words in text
