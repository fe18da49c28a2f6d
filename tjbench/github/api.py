"""GitHub's REST API over PyGithub (the ``action`` extra): baselines from it, comments to it."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tjbench.errors import IncompleteError, TjbError, UsageError
from tjbench.github.baseline import is_artifact, path_parts
from tjbench.github.comment import Comment, Rejected
from tjbench.github.event import Head

if TYPE_CHECKING:
    from github import Github, GithubException
    from github.GitTree import GitTree
    from github.GitTreeElement import GitTreeElement
    from github.Issue import Issue
    from github.IssueComment import IssueComment
    from github.Repository import Repository as GithubRepository

_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 60
_MOST_CAUSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how long to wait for GitHub. ``longest_wait_s`` bounds one wait, a rate limit's included."""

    retries: int = 4
    backoff_s: float = 0.5
    longest_wait_s: int = _LONGEST_WAIT_S
    timeout_s: int = 30


def connect(base_url: str, token: str, patience: Patience | None = None) -> Github:
    """A client of the API at ``base_url`` (GITHUB_API_URL); no request is made yet, and no POST is ever repeated.

    An empty token reads public repositories. Raises UsageError without PyGithub.
    """
    try:
        from github import Auth, Github, GithubRetry
    except ImportError as error:
        raise UsageError(
            "PyGithub is not installed", why=str(error), fix='pip install "tokenjam-bench[action]"'
        ) from error
    logging.getLogger("github").setLevel(logging.WARNING)  # it prints every 403 that it meets
    patience = patience or Patience()
    retry = GithubRetry(
        total=patience.retries,
        backoff_factor=patience.backoff_s,
        backoff_max=patience.longest_wait_s,
        retry_after_max=patience.longest_wait_s,
        secondary_rate_wait=patience.longest_wait_s,
        max_rate_limit_wait=patience.longest_wait_s,
        status_forcelist=sorted(_TRANSIENT),
        # a POST that failed may have been done; PATCH and DELETE end in the same state
        allowed_methods=frozenset({"GET", "PATCH", "DELETE"}),
        raise_on_status=False,
    )
    return Github(
        auth=Auth.Token(token) if token else None,
        base_url=base_url.rstrip("/"),
        retry=retry,
        timeout=patience.timeout_s,
        per_page=100,
        lazy=True,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRepository:
    """The repository ``full_name`` as the API shows it."""

    client: Github
    full_name: str

    def branches(self) -> list[tuple[str, str]]:
        with self._reading("its branches"):
            return [(branch.name, branch.commit.sha) for branch in self._repo.get_branches()]

    def resolve(self, ref: str) -> str:
        with self._reading(f"commit {ref!r}"):
            return self._repo.get_commit(ref, commit_files_per_page=1).complete().sha

    def files(self, sha: str, directory: str) -> dict[str, bytes]:
        parts = path_parts(directory)
        with self._reading(f"{directory} at {sha[:12]}"):
            tree = self._tree(sha, parts)
            if tree is None:
                return {}
            self._refuse_truncated(tree)
            wanted = [entry for entry in tree.tree if _is_file(entry) and is_artifact(entry.path)]
            return {"/".join((*parts, entry.path)): self._blob(entry.sha) for entry in wanted}

    def file(self, sha: str, path: str) -> bytes | None:
        *parents, name = path_parts(path)
        with self._reading(f"{path} at {sha[:12]}"):
            tree = self._tree(sha, tuple(parents))
            entry = self._entry(tree, name) if tree else None
            return self._blob(entry.sha) if entry and _is_file(entry) else None

    @property
    def _repo(self) -> GithubRepository:
        return self.client.get_repo(self.full_name)

    def _tree(self, sha: str, parts: tuple[str, ...]) -> GitTree | None:
        """The directory at a commit, one level a request: a recursive listing is cut at 100,000 entries."""
        tree = self._repo.get_git_tree(sha)
        for part in parts:
            entry = self._entry(tree, part)
            if entry is None or entry.type != "tree":
                return None
            tree = self._repo.get_git_tree(entry.sha)
        return tree

    def _entry(self, tree: GitTree, name: str) -> GitTreeElement | None:
        found = next((entry for entry in tree.tree if entry.path == name), None)
        if found is None:
            self._refuse_truncated(tree)
        return found

    def _refuse_truncated(self, tree: GitTree) -> None:
        if tree.truncated:
            raise IncompleteError(
                f"a directory of {self.full_name} is too long for GitHub to list whole",
                why=f"tree {tree.sha} comes truncated",
                fix="keep the artifacts in a directory of their own and name it in `baseline-dir`",
            )

    def _blob(self, sha: str) -> bytes:
        blob = self._repo.get_git_blob(sha)
        return base64.b64decode(blob.content) if blob.encoding == "base64" else blob.content.encode()

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        try:
            with _asking():
                yield
        except Rejected as rejected:
            raise self._explained(what, rejected) from rejected

    def _explained(self, what: str, rejected: Rejected) -> TjbError:
        where = f"{self.full_name} at {self.client.requester.base_url}"
        if rejected.status is None and rejected.transient:
            return IncompleteError(
                f"could not reach GitHub at {self.client.requester.base_url} to read {what} of {self.full_name}",
                why=str(rejected),
                fix="run again; where it stays, look at GITHUB_API_URL and at what the runner may reach",
            )
        if rejected.transient:
            return IncompleteError(f"GitHub did not let us read {what} of {where}", why=str(rejected), fix="run again")
        if rejected.status == 401:
            return UsageError(
                f"GitHub does not accept the token for {where}",
                why=str(rejected),
                fix="pass `github-token: ${{ github.token }}`, or one that has not expired",
            )
        if rejected.status == 403:
            return UsageError(
                f"the token may not read {what} of {where}",
                why=str(rejected),
                fix="give the job `permissions: contents: read`",
            )
        if rejected.status in (404, 422):
            return UsageError(
                f"GitHub finds no {what} of {where}",
                why=f"{rejected}: it does not exist, or the token may not see it",
                fix="check the name and GITHUB_API_URL, and give the job `permissions: contents: read`",
            )
        return IncompleteError(f"GitHub did not let us read {what} of {where}", why=str(rejected), fix="run again")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiThread:
    """The comments of a pull request of ``full_name``, named by its number or by its head.

    A head is looked up for every request, so that nothing is written once the pull request has moved on.
    """

    client: Github
    full_name: str
    pull_request: int | Head

    def author(self) -> str | None:
        try:
            with _asking():
                return self.client.get_user().login
        except Rejected as rejected:
            if rejected.status == 403 and not rejected.transient:
                return None
            raise

    def comments(self) -> list[Comment]:
        with _asking():
            return [_comment(comment) for comment in self._issue.get_comments()]

    def create(self, body: str) -> Comment:
        with _asking():
            return _comment(self._issue.create_comment(body))

    def update(self, comment_id: int, body: str) -> Comment:
        with _asking():
            comment = self._issue.get_comment(comment_id)
            comment.edit(body)
            return _comment(comment)

    def delete(self, comment_id: int) -> None:
        try:
            with _asking():
                self._issue.get_comment(comment_id).delete()
        except Rejected as rejected:
            if rejected.status != 404:  # gone already
                raise

    @property
    def _issue(self) -> Issue:
        return self._repo.get_issue(self._number)

    @property
    def _repo(self) -> GithubRepository:
        return self.client.get_repo(self.full_name)

    @property
    def _number(self) -> int:
        head = self.pull_request
        if isinstance(head, int):
            return head
        opened = self._repo.get_pulls(state="open", head=f"{head.owner}:{head.branch}")
        found = [pull.number for pull in opened if pull.head.sha == head.sha]
        if len(found) != 1:
            some = f"pull requests {', '.join(map(str, found))} all have" if found else "no open pull request has"
            raise Rejected(f"{some} {head.owner}:{head.branch} at {head.sha[:12]} as its head")
        return found[0]


@contextmanager
def _asking() -> Iterator[None]:
    """Raise Rejected for whatever PyGithub and requests raise."""
    from github import GithubException, RateLimitExceededException
    from requests import RequestException

    try:
        yield
    except RequestException as error:
        raise Rejected(f"no answer: {_cause(error)}", transient=True) from error
    except GithubException as error:
        headers = error.headers or {}
        limited = isinstance(error, RateLimitExceededException)
        wait = headers.get("retry-after", "")
        raise Rejected(
            f"{error.status} {_message(error)}",
            status=error.status,
            transient=limited or error.status in _TRANSIENT,
            wait_s=min(int(wait), _LONGEST_WAIT_S) if wait.isdigit() else _LONGEST_WAIT_S if limited else 1,
        ) from error


def _cause(error: BaseException) -> str:
    """The innermost reason in a few words; what the libraries wrap around it names their own objects."""
    found: BaseException | None = error
    said = "the connection failed"
    for _ in range(_MOST_CAUSES):
        if found is None:
            break
        if isinstance(found, OSError) and found.strerror:
            said = found.strerror
        elif isinstance(found, TimeoutError):
            said = "timed out"
        reason = getattr(found, "reason", None)
        found = reason if isinstance(reason, BaseException) else found.__cause__ or found.__context__
    return said


def _message(error: GithubException) -> str:
    data = error.data
    said = data.get("message") if isinstance(data, dict) else None
    details = data.get("errors") if isinstance(data, dict) else None
    return f"{said or 'no message'}{f' {details}' if details else ''}"


def _comment(comment: IssueComment) -> Comment:
    author = comment.user.login if comment.user else ""
    return Comment(id=comment.id, author=author, body=comment.body or "", url=comment.html_url)


def _is_file(entry: GitTreeElement) -> bool:
    return entry.type == "blob" and entry.mode.startswith("100")  # 120000 is a symbolic link
