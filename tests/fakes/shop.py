"""A repository whose pull requests are gated in this process: its git, its GitHub, its provider and its tokenjam."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.fakes.gitdir import commit, git
from tests.fakes.github_server import GithubServer
from tests.fakes.provider import FakeProvider
from tests.fakes.sums import sums_jsonl
from tjbench.action import run_action
from tjbench.action_inputs import open_action
from tjbench.compare.decision import Decision
from tjbench.errors import ExitCode
from tjbench.github.api import Patience

NAME = "acme/shop"
TASKS = 30
KEY = "sk-canary-5b1d0e9f7a"
TOKEN = "token"
CONFIG = """\
[[proof]]
suite = "bench/sums.jsonl"
original = "openai:big"
"""
FILES = {"tjbench.toml": CONFIG.encode(), "bench/sums.jsonl": sums_jsonl(TASKS).encode()}
QUICK = Patience(retries=1, backoff_s=0, longest_wait_s=1, timeout_s=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of the action did."""

    code: ExitCode
    log: str
    summary: str
    outputs: dict[str, str]
    workspace: Path

    @property
    def decision(self) -> Decision:
        """The run's decision, from its report file."""
        return Decision.model_validate_json((self.workspace / "report.json").read_bytes())

    def artifacts(self) -> list[Path]:
        return sorted((self.workspace / "results").glob("tjbench_*.json"))

    def annotations(self, level: str) -> list[str]:
        found = re.findall(rf"^::{level} [^:]*::(.*)$", self.log, re.MULTILINE)
        return [text.replace("%0A", "\n").replace("%25", "%") for text in found]


@dataclass(slots=True, kw_only=True)
class Shop:
    """The repository at ``origin``; every run has a clone of its own."""

    origin: Path
    scratch: Path
    github: GithubServer
    provider: FakeProvider
    tokenjam: Path
    runs: count[int] = field(default_factory=lambda: count(1))

    def commit(self, branch: str, files: Mapping[str, bytes], *, start: str | None = None) -> str:
        """Commit ``files`` to ``branch``, made from ``start`` where it is new."""
        git(self.origin, "checkout", "-q", *(["-B", branch, start] if start else [branch]))
        made = commit(self.origin, dict(files))
        git(self.origin, "checkout", "-q", "main")
        return made

    def sha(self, ref: str) -> str:
        return git(self.origin, "rev-parse", ref)

    def comments(self, number: int = 1) -> list[str]:
        return [comment.body for comment in self.github.comments if comment.issue == number]

    def clone(self, ref: str) -> Path:
        """A workspace with ``ref`` checked out."""
        workspace = self.scratch / f"workspace-{next(self.runs)}"
        git(self.scratch, "clone", "-q", "--no-hardlinks", str(self.origin), str(workspace))
        git(workspace, "checkout", "-q", "--detach", self.sha(ref))
        return workspace

    def pull_request(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        base: str = "main",
        repository: str = NAME,
        event: str = "pull_request",
        merge: bool = False,
        **options: Any,
    ) -> Outcome:
        """Run the gate on pull request 1, which makes these changes to ``base``."""
        head = self.commit(f"change-{next(self.runs)}", files or {}, start=base)
        checked_out = head
        if merge:  # what GitHub checks out: a commit that exists for this run alone
            checked_out = git(
                self.origin, "commit-tree", f"{head}^{{tree}}", "-p", self.sha(base), "-p", head, "-m", "m"
            )
            git(self.origin, "branch", f"merge-{next(self.runs)}", checked_out)
        payload = {
            "pull_request": {
                "number": 1,
                "head": {"sha": head, "repo": {"full_name": repository}},
                "base": {"sha": self.sha(base), "ref": base, "repo": {"full_name": NAME}},
            }
        }
        target = self.sha(base) if event == "pull_request_target" else checked_out
        return self.run(event, payload, ref=checked_out, sha=target, **options)

    def run(
        self,
        event: str = "workflow_dispatch",
        payload: Mapping[str, Any] | None = None,
        *,
        ref: str = "main",
        sha: str | None = None,
        token: str = TOKEN,
        keys: Mapping[str, str] = {},
        live: bool = True,
        workspace: Path | None = None,
        environ: Mapping[str, str] = {},
        **inputs: str,
    ) -> Outcome:
        """Run the action for an event; ``inputs`` are spelled with underscores. ``live`` models are on loopback."""
        workspace = workspace or self.clone(ref)
        place = self.scratch / f"runner-{next(self.runs)}"
        place.mkdir()
        (place / "event.json").write_text(json.dumps(payload or {}))
        given = {"github-token": token, "report-file": "report.json", **inputs}
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(place / "event.json"),
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_SHA": sha or git(workspace, "rev-parse", "HEAD"),
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_WORKFLOW": "ci",
            "GITHUB_JOB": "gate",
            "GITHUB_RUN_ID": str(next(self.runs)),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_OUTPUT": str(place / "output"),
            "GITHUB_STEP_SUMMARY": str(place / "summary"),
            "TJBENCH_TOKENJAM_PYTHON": str(self.tokenjam),
            **({"OPENAI_BASE_URL": self.provider.openai_url} if live else {}),
            **keys,
            **{f"INPUT_{name.replace('_', '-').upper()}": value for name, value in given.items()},
            **environ,
        }
        log = io.StringIO()
        run = open_action(env, workspace, log, QUICK)
        try:
            code = run_action(run)
        finally:
            if run.repository:
                run.repository.client.close()  # type: ignore[attr-defined]
        return Outcome(
            code=code,
            log=log.getvalue(),
            summary=_read(place / "summary").removesuffix("\n"),
            outputs=read_outputs(_read(place / "output")),
            workspace=workspace,
        )


def read_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT as the runner reads it: ``name<<delimiter``, lines, ``delimiter``."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        else:
            raise ValueError(f"output {name} has no end")
        found[name] = "\n".join(value)
    return found


def found_shop(origin: Path) -> None:
    """Make the repository with its configuration and its suite."""
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    commit(origin, FILES)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
