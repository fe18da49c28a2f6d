"""What the fake GitHub knows, and its answer for each operation."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.fakes.github_openapi import Call, description, description_path
from tests.fakes.github_repo import Source

MAX_BODY = 65_536
NOW = "2026-01-01T00:00:00Z"
BOT = "github-actions[bot]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a token writes as. ``tells`` is False for GITHUB_TOKEN and app tokens: GET /user is forbidden to them."""

    login: str = BOT
    tells: bool = False
    read_only: bool = False


@dataclass(slots=True, kw_only=True)
class StoredComment:
    id: int
    issue: int
    author: str
    body: str


@dataclass(slots=True, kw_only=True)
class StoredPull:
    """A pull request from ``owner``'s ``branch``, which stands at ``sha``."""

    number: int
    owner: str
    branch: str
    sha: str
    state: str = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    call: Call
    query: dict[str, list[str]]
    body: Any
    base: str
    identity: Identity

    def __getitem__(self, parameter: str) -> str:
        return self.call.parameters[parameter]

    def number(self, name: str, default: int) -> int:
        return int(self.query.get(name, [str(default)])[0])


@dataclass(slots=True, kw_only=True)
class State:
    """One repository with its comments and pull requests; ``truncated`` names the trees that are too long to list."""

    repo: Source
    full_name: str
    comments: list[StoredComment] = field(default_factory=list)
    pulls: list[StoredPull] = field(default_factory=list)
    truncated: set[str] = field(default_factory=set)
    last_id: int = 1000

    def add(self, body: str, *, author: str, issue: int) -> StoredComment:
        self.last_id += 1
        made = StoredComment(id=self.last_id, issue=issue, author=author, body=body)
        self.comments.append(made)
        return made


def error(status: int, message: str) -> Answer:
    return Answer(status=status, body={"message": message, "documentation_url": "https://docs.github.com/rest"})


def _get_user(state: State, request: Request) -> Answer:
    if not request.identity.tells:
        return error(403, "Resource not accessible by integration")
    nothing = dict.fromkeys(["bio", "blog", "company", "email", "hireable", "location", "name"])
    counts = dict.fromkeys(["followers", "following", "public_gists", "public_repos"], 0)
    dates = {"created_at": NOW, "updated_at": NOW}
    return Answer(status=200, body={**_user(request.identity.login, request.base), **nothing, **counts, **dates})


def _get_branches(state: State, request: Request) -> Answer:
    branches = [
        {"name": name, "commit": {"sha": sha, "url": f"{_repo(request)}/commits/{sha}"}, "protected": False}
        for name, sha in state.repo.branches().items()
    ]
    return _page(branches, request, f"/repos/{state.full_name}/branches")


def _get_commit(state: State, request: Request) -> Answer:
    found = state.repo.commit(request["ref"])
    if found is None:
        return error(422, f"No commit found for SHA: {request['ref']}")
    sha, tree = found
    url = f"{_repo(request)}/commits/{sha}"
    who = {"name": "A", "email": "a@example.invalid", "date": NOW}
    commit = {
        "url": url,
        "author": who,
        "committer": who,
        "message": "made up",
        "comment_count": 0,
        "tree": {"sha": tree, "url": f"{_repo(request)}/git/trees/{tree}"},
    }
    empty: dict[str, Any] = {"author": None, "committer": None, "parents": [], "files": []}
    links = {"url": url, "html_url": url, "comments_url": f"{url}/comments"}
    return Answer(status=200, body={"sha": sha, "node_id": sha, "commit": commit, **links, **empty})


def _get_tree(state: State, request: Request) -> Answer:
    wanted = request["tree_sha"]
    commit = state.repo.commit(wanted)
    sha = commit[1] if commit else wanted
    entries = state.repo.tree(sha)
    if entries is None:
        return error(404, "Not Found")
    url = f"{_repo(request)}/git"
    tree = [
        {"path": e.name, "mode": e.mode, "type": e.type, "sha": e.sha, "url": f"{url}/{e.type}s/{e.sha}"}
        for e in entries
    ]
    cut = sha in state.truncated
    body = {"sha": sha, "url": f"{url}/trees/{sha}", "tree": tree[:1] if cut else tree, "truncated": cut}
    return Answer(status=200, body=body)


def _get_blob(state: State, request: Request) -> Answer:
    sha = request["file_sha"]
    data = state.repo.blob(sha)
    if data is None:
        return error(404, "Not Found")
    content = base64.encodebytes(data).decode()
    body = {"sha": sha, "node_id": sha, "size": len(data), "content": content, "encoding": "base64"}
    return Answer(status=200, body={**body, "url": f"{_repo(request)}/git/blobs/{sha}"})


def _list_pulls(state: State, request: Request) -> Answer:
    wanted, head = (request.query.get(name, [default])[0] for name, default in (("state", "open"), ("head", "")))
    shown = [
        _pull_body(pull)
        for pull in state.pulls
        if wanted in ("all", pull.state) and head in ("", f"{pull.owner}:{pull.branch}")
    ]
    return _page(shown, request, f"/repos/{state.full_name}/pulls")


def _list_comments(state: State, request: Request) -> Answer:
    issue = int(request["issue_number"])
    shown = [_comment_body(c, request) for c in state.comments if c.issue == issue]
    return _page(shown, request, f"/repos/{state.full_name}/issues/{issue}/comments")


def _create_comment(state: State, request: Request) -> Answer:
    if refused := _refused_body(request):
        return refused
    made = state.add(request.body["body"], author=request.identity.login, issue=int(request["issue_number"]))
    return Answer(status=201, body=_comment_body(made, request))


def _get_comment(state: State, request: Request) -> Answer:
    found = _stored(state, request)
    return Answer(status=200, body=_comment_body(found, request)) if found else error(404, "Not Found")


def _update_comment(state: State, request: Request) -> Answer:
    found = _stored(state, request)
    if found is None:
        return error(404, "Not Found")
    if refused := _refused_body(request):
        return refused
    found.body = request.body["body"]
    return Answer(status=200, body=_comment_body(found, request))


def _delete_comment(state: State, request: Request) -> Answer:
    found = _stored(state, request)
    if found is None:
        return error(404, "Not Found")
    state.comments.remove(found)
    return Answer(status=204)


_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}"
ROUTES: dict[tuple[str, str], Callable[[State, Request], Answer]] = {
    ("GET", "/user"): _get_user,
    ("GET", "/repos/{owner}/{repo}/branches"): _get_branches,
    ("GET", "/repos/{owner}/{repo}/commits/{ref}"): _get_commit,
    ("GET", "/repos/{owner}/{repo}/git/trees/{tree_sha}"): _get_tree,
    ("GET", "/repos/{owner}/{repo}/git/blobs/{file_sha}"): _get_blob,
    ("GET", "/repos/{owner}/{repo}/pulls"): _list_pulls,
    ("GET", "/repos/{owner}/{repo}/issues/{issue_number}/comments"): _list_comments,
    ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments"): _create_comment,
    ("GET", _COMMENT): _get_comment,
    ("PATCH", _COMMENT): _update_comment,
    ("DELETE", _COMMENT): _delete_comment,
}


def _repo(request: Request) -> str:
    return f"{request.base}/repos/{request['owner']}/{request['repo']}"


def _stored(state: State, request: Request) -> StoredComment | None:
    return next((c for c in state.comments if c.id == int(request["comment_id"])), None)


def _refused_body(request: Request) -> Answer | None:
    body = request.body["body"]
    if body.strip() and len(body) <= MAX_BODY:
        return None
    why = f"Body is too long (maximum is {MAX_BODY} characters)" if body.strip() else "Body can't be blank"
    error = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": why}
    shown = {"message": "Validation Failed", "errors": [error], "documentation_url": "https://docs.github.com/rest"}
    return Answer(status=422, body=shown)


def _page(items: list[Any], request: Request, path: str) -> Answer:
    size = min(request.number("per_page", 30), 100)
    page = request.number("page", 1)
    last = max(-(-len(items) // size), 1)
    links = {"prev": page - 1, "next": page + 1, "first": 1, "last": last}
    shown = [
        f'<{request.base}{path}?{urlencode({"per_page": size, "page": number})}>; rel="{rel}"'
        for rel, number in links.items()
        if (page > 1 if rel in ("prev", "first") else page < last)
    ]
    body = items[(page - 1) * size : page * size]
    return Answer(status=200, body=body, headers={"Link": ", ".join(shown)} if shown else {})


def _comment_body(comment: StoredComment, request: Request) -> dict[str, Any]:
    issue = f"{_repo(request)}/issues/{comment.issue}"
    return {
        "id": comment.id,
        "node_id": f"IC_{comment.id}",
        "url": f"{_repo(request)}/issues/comments/{comment.id}",
        "html_url": f"{_repo(request)}/pull/{comment.issue}#issuecomment-{comment.id}",
        "issue_url": issue,
        "body": comment.body,
        "user": _user(comment.author, request.base),
        "author_association": "NONE",
        "created_at": NOW,
        "updated_at": NOW,
    }


def _pull_body(pull: StoredPull) -> dict[str, Any]:
    body: dict[str, Any] = description(description_path()).example("pull-request-simple")
    head = {**body["head"], "label": f"{pull.owner}:{pull.branch}", "ref": pull.branch, "sha": pull.sha}
    return {**body, "number": pull.number, "state": pull.state, "head": head}


def _user(login: str, base: str) -> dict[str, Any]:
    url = f"{base}/users/{login.replace('[', '%5B').replace(']', '%5D')}"
    links = ["avatar_url", "events_url", "followers_url", "following_url", "gists_url", "html_url"]
    links += ["organizations_url", "received_events_url", "repos_url", "starred_url", "subscriptions_url", "url"]
    return {
        **dict.fromkeys(links, url),
        "id": sum(login.encode()),
        "node_id": login,
        "login": login,
        "gravatar_id": "",
        "site_admin": False,
        "type": "Bot" if login.endswith("[bot]") else "User",
    }
