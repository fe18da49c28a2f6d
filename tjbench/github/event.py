"""What started this run: the workflow event, and whether the code in the workspace may meet its secrets."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from tjbench.errors import UsageError

# https://docs.github.com/actions/reference/events-that-trigger-workflows: these run in the base repository, with its
# secrets, for something that anyone may send.
SECRETS_FOR_ANYONE = frozenset(
    {
        "pull_request_target",
        "workflow_run",
        "issue_comment",
        "issues",
        "discussion",
        "discussion_comment",
        "fork",
        "watch",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a pull request's commits come from: a branch of a repository of ``owner``'s, standing at ``sha``."""

    owner: str
    branch: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The run that a ``workflow_run`` follows. ``head`` is None unless it ran for a pull request."""

    run_id: int
    run_attempt: int
    head: Head | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One workflow run's event; no field needs a pull request payload.

    ``sha`` is GITHUB_SHA (for a pull request: the merge commit), ``head_sha`` the commit the event is about.
    ``base_sha`` and ``base_ref`` (a branch name) are None where the event has no base. ``head_repository`` is None
    when GitHub does not say it, which for a pull request means a deleted fork.
    """

    name: str
    repository: str = ""
    ref: str = ""
    sha: str = ""
    workflow: str = ""
    job: str = ""
    run_id: int = 0
    run_attempt: int = 1
    actor: str = ""
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    pull_request: int | None = None
    head_sha: str = ""
    head_repository: str | None = None
    base_sha: str | None = None
    base_ref: str | None = None
    source: Source | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read ``GITHUB_*`` and the payload file; raises UsageError when a value or the payload cannot be read."""
        name = environ.get("GITHUB_EVENT_NAME", "")
        payload = _payload(environ.get("GITHUB_EVENT_PATH", ""))
        about = _about(name, payload)
        sha = environ.get("GITHUB_SHA", "")
        return cls(
            name=name,
            repository=environ.get("GITHUB_REPOSITORY", ""),
            ref=environ.get("GITHUB_REF", ""),
            sha=sha,
            workflow=environ.get("GITHUB_WORKFLOW", ""),
            job=environ.get("GITHUB_JOB", ""),
            run_id=_number(environ, "GITHUB_RUN_ID", 0),
            run_attempt=_number(environ, "GITHUB_RUN_ATTEMPT", 1),
            actor=environ.get("GITHUB_ACTOR", ""),
            api_url=environ.get("GITHUB_API_URL") or "https://api.github.com",
            server_url=environ.get("GITHUB_SERVER_URL") or "https://github.com",
            pull_request=about.number,
            head_sha=about.head_sha or sha,
            head_repository=about.head_repository,
            base_sha=about.base_sha,
            base_ref=about.base_ref or environ.get("GITHUB_BASE_REF") or None,
            source=about.source,
        )

    @property
    def followed(self) -> Self:
        """This event as the run that it follows, for what is told in that run's name."""
        if self.source is None:
            return self
        return replace(self, run_id=self.source.run_id, run_attempt=self.source.run_attempt)

    @property
    def is_fork(self) -> bool:
        """True when the event's head lives in another repository, or in one that is gone."""
        if self.head_repository is None:
            return self.name.startswith("pull_request") and self.pull_request is not None
        return self.head_repository.lower() != self.repository.lower()

    @property
    def push_ref(self) -> str | None:
        """The branch this run is on, for events that are not about a pull request; None on a tag."""
        if self.base_ref or not self.ref.startswith("refs/heads/"):
            return None
        return self.ref.removeprefix("refs/heads/")

    @property
    def run_url(self) -> str:
        """Where a person reads this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.run_attempt}"

    @property
    def gate_id(self) -> str:
        """The default key of the sticky comment, so that several gates on one pull request keep apart."""
        return f"{self.workflow}/{self.job}"

    def is_base_commit(self, head: str, others: Collection[str] = ()) -> bool:
        """True when ``head`` is known to be a commit of the base repository; ``others`` are more such commits, for
        example its branch heads. Asking the API proves nothing: a fork shares its objects with its parent."""
        known = {self.sha, self.base_sha, *others}
        if not self.is_fork:
            known.add(self.head_sha)
        return bool(head) and head in known


def require_trusted_head(
    event: Event, head: str | None, *, keys_present: bool = True, base_commits: Collection[str] = ()
) -> None:
    """Raise UsageError when foreign code would run beside secrets.

    ``head`` is the commit checked out in the workspace, None when there is no telling (which counts as foreign).
    Do not ask for work that runs nothing from the workspace, such as posting a comment.
    """
    foreign_pull_request = event.name == "pull_request" and event.is_fork and keys_present
    if foreign_pull_request:
        what = f"pull request {event.pull_request} comes from a fork, and this job holds provider keys"
        fix = "give keys only to steps that run on commits of this repository"
    elif event.name in SECRETS_FOR_ANYONE and not event.is_base_commit(head or "", base_commits):
        what = f"a {event.name} job has this repository's secrets, but {head or 'an unknown commit'} is checked out"
        fix = "run the gate on `pull_request`; from `workflow_run` only post its report (mode: post-comment)"
    else:
        return
    raise UsageError(what, why="code from outside the repository could read the secrets", fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    number: int | None = None
    head_sha: str | None = None
    head_repository: str | None = None
    base_sha: str | None = None
    base_ref: str | None = None
    source: Source | None = None


def _about(name: str, payload: dict[str, Any]) -> _About:
    """What the payload says of head and base, whatever the event."""
    if pull := _child(payload, "pull_request"):
        head, base = _child(pull, "head"), _child(pull, "base")
        return _About(
            number=_integer(pull.get("number")),
            head_sha=_text(head, "sha"),
            head_repository=_text(_child(head, "repo"), "full_name"),
            base_sha=_text(base, "sha"),
            base_ref=_text(base, "ref"),
        )
    if run := _child(payload, "workflow_run"):
        repository = _child(run, "head_repository")
        return _About(
            head_sha=_text(run, "head_sha"), head_repository=_text(repository, "full_name"), source=_source(run)
        )
    if group := _child(payload, "merge_group"):
        base_ref = _text(group, "base_ref")
        return _About(
            head_sha=_text(group, "head_sha"),
            base_sha=_text(group, "base_sha"),
            base_ref=base_ref.removeprefix("refs/heads/") if base_ref else None,
        )
    if name == "issue_comment" and _child(payload, "issue").get("pull_request"):
        return _About(number=_integer(_child(payload, "issue").get("number")))
    if name == "push":
        before = _text(payload, "before") or ""
        return _About(head_sha=_text(payload, "after"), base_sha=before if before.strip("0") else None)
    return _About()


def _source(run: dict[str, Any]) -> Source | None:
    """The payload's own list of pull requests is no help: it is empty for a fork's."""
    number = _integer(run.get("id"))
    if number is None:
        return None
    owner = _text(_child(_child(run, "head_repository"), "owner"), "login")
    branch, sha = _text(run, "head_branch"), _text(run, "head_sha")
    head = None
    if owner and branch and sha and (_text(run, "event") or "").startswith("pull_request"):
        head = Head(owner=owner, branch=branch, sha=sha)
    return Source(run_id=number, run_attempt=_integer(run.get("run_attempt")) or 1, head=head)


def _payload(path: str) -> dict[str, Any]:
    if not path:
        return {}
    try:
        payload = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the event payload {path} cannot be read", why=str(error), fix="unset GITHUB_EVENT_PATH, or mend the file"
        ) from error
    return payload if isinstance(payload, dict) else {}


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name} is {text!r}", why="it is a whole number on every runner", fix=f"unset {name}")
    return int(text)


def _child(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    child = parent.get(key)
    return child if isinstance(child, dict) else {}


def _text(parent: Mapping[str, Any], key: str) -> str | None:
    value = parent.get(key)
    return value if isinstance(value, str) and value else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
