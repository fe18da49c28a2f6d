"""A shop's repository that gates its models: a remote with branches and releases, its GitHub, its pull requests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.act import WORKFLOW, Act, Job, git
from tests.fakes.github_server import GithubServer
from tests.fakes.provider import FakeProvider
from tests.fakes.script import script

ROOT = Path(__file__).parents[2]
NAME = "acme/shop"
KEY = "sk-shop-0123456789"
TOKEN = "ghs_shop-may-write"
READ_ONLY_TOKEN = "ghs_shop-may-only-read"
ORDERS = "bench/orders.jsonl"
STEPWISE = "Work step by step, then give the number alone on the last line."
HUMANEVAL_TASKS = 40
CONFIG = f"""\
[[proof]]
suite = "humaneval"
original = "openai:gpt-4o"
limit = {HUMANEVAL_TASKS}

[[proof]]
suite = "{ORDERS}"
original = "anthropic:claude-opus-4-7"
"""
RUNNER_UID = 1001
"""Who owns the workspace on GitHub's runners; the container is root."""

_runs = count(1)


def orders() -> dict[str, int]:
    """Sixty questions with their answers."""
    asked = {}
    for number in range(60):
        price, pieces, parcel = 3 + number % 7, 2 + number % 9, 4 + number % 5
        question = (
            f"Order {number}: {pieces} pieces at {price} dollars each, and {parcel} dollars for the parcel. Total?"
        )
        asked[question] = price * pieces + parcel
    return asked


def orders_suite(system: str) -> str:
    lines: list[dict[str, Any]] = [{"suite": {"system": system}}]
    for number, (question, answer) in enumerate(orders().items()):
        lines.append({"id": f"order-{number}", "prompt": question, "check": {"number": answer}})
    return "".join(json.dumps(line) + "\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How the scripted models answer: everything right, save these."""

    humaneval_wrong: tuple[str, ...] = ()
    """Tasks that the candidate fails."""
    need_steps: tuple[str, ...] = ()
    """Questions that the candidate fails unless the system text asks for steps."""

    def rules(self, folder: Path) -> dict[str, Any]:
        file = folder / "orders.json"
        file.write_text(json.dumps({question: str(answer) for question, answer in orders().items()}), encoding="utf-8")
        known = {"kind": "answers", "file": file.name}
        return {
            "key": KEY,
            "rules": [
                {"kind": "humaneval", "model": "gpt-4o-mini", "wrong": list(self.humaneval_wrong)},
                {"kind": "humaneval"},
                {**known, "system": "step by step"},
                {**known, "model": "claude-haiku-*", "wrong": list(self.need_steps)},
                known,
            ],
        }


@dataclass(slots=True, kw_only=True)
class Shop:
    """The repository at ``origin``, and everything that runs around it."""

    origin: Path
    scratch: Path
    act: Act
    github: GithubServer
    action: str = "./"
    base: str = "main"

    def commit(self, branch: str, files: Mapping[str, str | bytes], *, start: str | None = None) -> str:
        """Commit ``files`` to ``branch``, made from ``start`` where it is new; returns the commit."""
        git(self.origin, "checkout", "-q", *(["-B", branch, start] if start else [branch]))
        for name, content in files.items():
            path = self.origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        git(self.origin, "add", "-A", "--force", "--", *files)
        git(self.origin, "commit", "-q", "--allow-empty", "-m", f"Change {', '.join(files) or 'nothing'}")
        sha = git(self.origin, "rev-parse", "HEAD")
        git(self.origin, "checkout", "-q", self.base)
        return sha

    def release(self, branch: str, job: Job) -> str:
        """Promote a run's artifacts to a release branch, as the docs tell people to."""
        return self.commit(branch, {f"results/{path.name}": path.read_bytes() for path in job.artifact_paths()})

    def pull_request(
        self,
        number: int,
        files: Mapping[str, str] | None = None,
        *,
        answers: Answers | None = None,
        token: str = TOKEN,
        endpoints: Mapping[str, str] | None = None,
        workflow: str = "gate.yml",
    ) -> Job:
        """Run a workflow on a pull request that makes these changes to the base branch."""
        branch = f"feature/{number}-{next(_runs)}"
        head = self.commit(branch, files or {}, start=self.base)
        event = _event(number, branch=branch, head=head, base=self.base, base_sha=self.sha(self.base))
        with ExitStack() as stack:
            if endpoints is None:
                provider = stack.enter_context(
                    FakeProvider(script((answers or Answers()).rules(self.scratch), self.scratch))
                )
                endpoints = {"OPENAI_BASE_URL": provider.openai_url, "ANTHROPIC_BASE_URL": provider.anthropic_url}
            job = self.act.run(
                self.checkout(branch),
                event,
                env={"GITHUB_API_URL": self.github.url, "GITHUB_RUN_ID": str(1000 + next(_runs))},
                secrets={"GITHUB_TOKEN": token, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY},
                variables=endpoints,
                workflow=workflow,
            )
        assert self.github.violations == []
        assert KEY not in job.log
        assert token not in job.log
        return job

    def checkout(self, branch: str) -> Path:
        """A clone as actions/checkout makes it: shallow, one branch, owned by the runner's user."""
        workspace = self.scratch / f"workspace-{next(_runs)}" / "shop"
        workspace.parent.mkdir()
        git(self.scratch, "clone", "-q", "--depth", "1", "--branch", branch, self.origin.as_uri(), str(workspace))
        git(workspace, "remote", "set-url", "origin", f"https://github.com/{NAME}.git")
        subprocess.run(["chown", "-R", f"{RUNNER_UID}:{RUNNER_UID}", str(workspace)], check=True)
        return workspace

    def sha(self, branch: str) -> str:
        return git(self.origin, "rev-parse", branch)

    def comments(self, number: int) -> list[str]:
        """The bodies of the comments on a pull request."""
        return [comment.body for comment in self.github.comments if comment.issue == number]


def found(origin: Path, action: str) -> None:
    """Set the repository up: the action's own files under ``action``, the shop's suite, configuration and workflow."""
    origin.mkdir(parents=True)
    git(origin, "init", "-q", "-b", "main")
    for name in _files_of_action():
        target = origin / action / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    shop = {
        ".github/workflows/gate.yml": WORKFLOW.replace("uses: ACTION", f"uses: {action}"),
        "tjbench.toml": CONFIG,
        ORDERS: orders_suite(STEPWISE),
    }
    for name, content in shop.items():
        path = origin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "Found the shop")
    git(origin, "branch", "release/1.0")


def _files_of_action() -> Iterator[str]:
    """What a user of the action gets of this repository and the image is made of, as it stands in the working tree."""
    wanted = ("action.yml", "Dockerfile", ".dockerignore", "entrypoint", "pyproject.toml", "LICENSE", "README.md")
    listing = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", *wanted, "tjbench")
    return (name for name in listing.split("\0") if name and (ROOT / name).is_file())


def _event(number: int, *, branch: str, head: str, base: str, base_sha: str) -> dict[str, Any]:
    repository = {
        "full_name": NAME,
        "name": "shop",
        "owner": {"login": "acme"},
        "fork": False,
        "default_branch": "main",
    }
    return {
        "action": "synchronize",
        "number": number,
        "pull_request": {
            "number": number,
            "head": {"ref": branch, "sha": head, "repo": repository},
            "base": {"ref": base, "sha": base_sha, "repo": repository},
        },
        "repository": repository,
    }


def owned_by_root(workspace: Path) -> list[Path]:
    """Files and directories in the workspace that the next checkout could not remove."""
    return [path for path in workspace.rglob("*") if ".git" not in path.parts and os.lstat(path).st_uid == 0]


Founder = Callable[[str], Shop]
