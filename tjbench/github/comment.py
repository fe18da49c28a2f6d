"""The sticky comment: one per gate on a pull request, edited by every run, never overwritten by an older one."""

from __future__ import annotations

import re
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, Self

# GitHub counts code points in its error message; measured, it stores up to 4 bytes for each of them.
MAX_CHARACTERS = 65_536
ACTIONS_BOT = "github-actions[bot]"
PERMISSION = "pull-requests: write"
_ROUNDS = 5
_MARKER = re.compile(r"<!-- tjbench:gate=(\S*) sha=([0-9A-Fa-f]*) run=(\d+) attempt=(\d+) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The hidden first line of a comment: which gate wrote it, for which commit, in which run."""

    gate: str
    sha: str
    run: int
    attempt: int

    @property
    def order(self) -> tuple[int, int]:
        """Runs of one repository in the order they were started."""
        return self.run, self.attempt

    def __str__(self) -> str:
        # `--` would end the HTML comment, a space the id
        gate = urllib.parse.quote(self.gate, safe="").replace("--", "-%2D")
        return f"<!-- tjbench:gate={gate} sha={self.sha} run={self.run} attempt={self.attempt} -->"

    @classmethod
    def parse(cls, body: str) -> Self | None:
        """The marker that ``body`` starts with; one further down is quoted text."""
        if not (found := _MARKER.match(body)):
            return None
        gate, sha, run, attempt = found.groups()
        return cls(gate=urllib.parse.unquote(gate), sha=sha, run=int(run), attempt=int(attempt))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on the pull request; ``id`` grows with age."""

    id: int
    author: str
    body: str
    url: str


class Rejected(Exception):
    """GitHub did not do what was asked. ``status`` is None when no answer came; ``transient`` when asking again after
    ``wait_s`` seconds may help: then a write may have happened all the same."""

    def __init__(self, reason: str, *, status: int | None = None, transient: bool = False, wait_s: float = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.transient = transient
        self.wait_s = wait_s


class Thread(Protocol):
    """The comments of one pull request. Every method raises Rejected; none retries ``create``."""

    def author(self) -> str | None:
        """The login that the token writes as; None when GitHub does not tell (an app's token, GITHUB_TOKEN)."""
        ...

    def comments(self) -> list[Comment]: ...

    def create(self, body: str) -> Comment: ...

    def update(self, comment_id: int, body: str) -> Comment: ...

    def delete(self, comment_id: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """The comment stands at ``url``; ``superseded`` when a newer run's text was left in place."""

    url: str
    outcome: Literal["created", "updated", "superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """There is no comment, and why; ``permission`` is what the job's ``permissions:`` lack, if that is the cause."""

    reason: str
    permission: str = ""


def upsert_comment(
    thread: Thread, marker: Marker, text: str, *, run_url: str, sleep: Callable[[float], None] = time.sleep
) -> Posted | Refused:
    """Make ``text`` the gate's one comment. Whatever GitHub answers, it comes back as a value: a comment that cannot
    be written never fails the gate.

    An own comment carries the gate's marker **and** the token's login. GITHUB_TOKEN may not ask for its login: it
    writes as ``github-actions[bot]``. Another app's token may not either; its login is learned from what it posts.
    """
    writer = _Writer(thread, marker, fit(f"{marker}\n{text}", link=run_url), sleep)
    for _ in range(_ROUNDS):
        try:
            if posted := writer.step():
                return posted
        except Rejected as rejected:
            if rejected.status != 404 or not writer.seen:  # 404: someone deleted it meanwhile
                return _refused(rejected)
    return _refused(writer.lost or Rejected("other runs kept changing the comment"))


class _Writer:
    """Steps towards one comment that holds the newest run's text. Each step reads all comments first, so a post whose
    answer was lost is found instead of repeated, and overlapping runs end at the same state."""

    def __init__(self, thread: Thread, marker: Marker, body: str, sleep: Callable[[float], None]) -> None:
        self.lost: Rejected | None = None
        self.seen = False
        self._thread = thread
        self._marker = marker
        self._body = body
        self._sleep = sleep
        self._login: str | None = None
        self._outcome: Literal["created", "updated"] | None = None

    def step(self) -> Posted | None:
        """One change, or the result when nothing is left to change."""
        own = self._own()
        self.seen = bool(own)
        if not own:
            self._create()
            return None
        keeper, *twins = own
        newest, body = self._newest(own)
        if newest.order > _marker_of(keeper).order or (newest == self._marker and self._outcome is None):
            self._thread.update(keeper.id, body)
            self._outcome = self._outcome or "updated"
            return None
        for twin in twins:
            self._thread.delete(twin.id)
        if newest.order > self._marker.order:
            return Posted(url=keeper.url, outcome="superseded")
        return Posted(url=keeper.url, outcome=self._outcome or "updated")

    def _create(self) -> None:
        self._outcome = "created"
        try:
            self._login = self._thread.create(self._body).author
        except Rejected as rejected:
            if not rejected.transient:
                raise
            self.lost = rejected
            self._sleep(rejected.wait_s)

    def _own(self) -> list[Comment]:
        """This gate's comments by this token, the oldest first."""
        if self._login is None:
            self._login = self._thread.author() or ACTIONS_BOT
        own = [
            c for c in self._thread.comments() if c.author == self._login and _marker_of(c).gate == self._marker.gate
        ]
        return sorted(own, key=lambda comment: comment.id)

    def _newest(self, own: list[Comment]) -> tuple[Marker, str]:
        latest = max(own, key=lambda comment: _marker_of(comment).order)
        if _marker_of(latest).order > self._marker.order:
            return _marker_of(latest), latest.body
        return self._marker, self._body


def fit(body: str, *, link: str, limit: int = MAX_CHARACTERS) -> str:
    """``body`` in at most ``limit`` characters, cut after a whole line, with a link to the rest.

    A code fence or ``<details>`` that the cut leaves open is closed.
    """
    if len(body) <= limit:
        return body
    note = f"\n*Cut here: a comment holds {limit:,} characters. [The run]({link}) has the rest.*\n"
    lines = body[: max(limit - len(note), 0)].split("\n")
    while lines:
        lines.pop()  # the last line may be part of one
        kept = "\n".join([*lines, *_closing(lines), note])
        if len(kept) <= limit:
            return kept
    return note[:limit]


def _closing(lines: list[str]) -> list[str]:
    """The lines that must follow so that a note after them is not swallowed by an open block."""
    fence = ""
    depth = 0
    for line in lines:
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence:
            depth += line.count("<details") - line.count("</details>")
    return [fence] * bool(fence) + ["</details>"] * max(depth, 0)


def _marker_of(comment: Comment) -> Marker:
    return Marker.parse(comment.body) or Marker(gate="\0", sha="", run=0, attempt=0)


def _refused(rejected: Rejected) -> Refused:
    forbidden = rejected.status == 403 and "locked" not in rejected.reason.lower()
    return Refused(reason=rejected.reason, permission=PERMISSION if forbidden or rejected.status == 404 else "")
