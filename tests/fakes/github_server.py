"""A small, stateful GitHub REST server on loopback.

Every request and every response is held against GitHub's own OpenAPI description; a mismatch is recorded in
``violations`` and answered with 599. Run it as ``python -m tests.fakes.github_server --repo DIR``: it prints one line
of JSON with its URL. ``GET /_fake/state`` shows comments, requests and violations; ``POST /_fake/comments`` adds a
comment as anybody, ``POST /_fake/pulls`` a pull request, ``POST /_fake/failures`` plans failures (all as JSON of the
methods' arguments).
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.fakes.github_answers import (
    BOT,
    ROUTES,
    Answer,
    Identity,
    Request,
    State,
    StoredComment,
    StoredPull,
    error,
)
from tests.fakes.github_openapi import Call, description, description_path
from tests.fakes.github_repo import GitRepo, MemoryRepo, Source


@dataclass(slots=True, kw_only=True)
class Failure:
    """The next ``times`` matching requests fail; with ``after`` they take effect first."""

    status: int
    times: int = 1
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    message: str = "injected"


class GithubServer:
    """The server and its state. Use it as a context manager; ``url`` is the API's base URL.

    ``prefix`` puts the API under a path, as GitHub Enterprise Server does (``/api/v3``).
    """

    def __init__(
        self,
        repo: Source | None = None,
        *,
        full_name: str = "acme/shop",
        tokens: dict[str, Identity] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        prefix: str = "",
    ) -> None:
        self.github = State(repo=repo or MemoryRepo(), full_name=full_name)
        self.tokens = tokens if tokens is not None else {"token": Identity()}
        self.failures: list[Failure] = []
        self.requests: list[str] = []
        self.violations: list[str] = []
        self.before: Callable[[str, str], None] | None = None
        self.lock = threading.RLock()
        self.prefix = prefix
        self.description = description(description_path())
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer((host, port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def comments(self) -> list[StoredComment]:
        return self.github.comments

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}{self.prefix}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def comment(self, body: str, *, author: str = BOT, issue: int = 1) -> StoredComment:
        """Add a comment as ``author``, past all checks."""
        with self.lock:
            return self.github.add(body, author=author, issue=issue)

    def pull(self, number: int, *, head: str, sha: str, state: str = "open") -> StoredPull:
        """Add a pull request from ``head``, as ``owner:branch``."""
        owner, _, branch = head.partition(":")
        made = StoredPull(number=number, owner=owner, branch=branch, sha=sha, state=state)
        with self.lock:
            self.github.pulls.append(made)
        return made

    def fail(self, status: int, **planned: Any) -> None:
        """Plan a :class:`Failure`."""
        with self.lock:
            self.failures.append(Failure(status=status, **planned))

    def planned(self, method: str, path: str, *, after: bool) -> Failure | None:
        """The failure that this request meets now, counted down."""
        for failure in self.failures:
            matches = failure.method in ("", method) and failure.path in path and failure.after == after
            if matches and failure.times > 0:
                failure.times -= 1
                return failure
        return None

    def state(self) -> dict[str, Any]:
        """What a test in another process wants to see."""
        return {
            "comments": [asdict(comment) for comment in self.comments],
            "requests": self.requests,
            "violations": self.violations,
        }


class _Handler(BaseHTTPRequestHandler):
    fake: GithubServer

    def do_GET(self) -> None:
        self._handle()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        if parts.path.startswith("/_fake/"):
            answer = _control(self.fake, self.command, parts.path, body)
        else:
            path = parts.path.removeprefix(self.fake.prefix)
            if self.fake.before:
                self.fake.before(self.command, path)
            with self.fake.lock:
                self.fake.requests.append(f"{self.command} {self.path.removeprefix(self.fake.prefix)}")
                answer = self._judged(path, parse_qs(parts.query, keep_blank_values=True), body)
        data = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _judged(self, path: str, query: dict[str, list[str]], body: bytes) -> Answer:
        """The answer, unless it or the request is not as GitHub describes them."""
        call = self.fake.description.match(self.command, path)
        if call is None:
            return self._violation(["the description has no such operation"])
        if problems := self.fake.description.check_request(call, query, body):
            return self._violation(problems)
        answer = self._answer(path, call, query, json.loads(body) if body else None)
        data = b"" if answer.body is None else json.dumps(answer.body).encode()
        if problems := self.fake.description.check_response(call, answer.status, data):
            return self._violation([f"our {answer.status}: {problem}" for problem in problems])
        return answer

    def _answer(self, path: str, call: Call, query: dict[str, list[str]], body: Any) -> Answer:
        fake = self.fake
        if failure := fake.planned(self.command, path, after=False):
            return Answer(status=failure.status, body={"message": failure.message}, headers=failure.headers)
        identity = fake.tokens.get((self.headers.get("Authorization") or "").rpartition(" ")[2])
        if identity is None:
            return error(401, "Bad credentials")
        if identity.read_only and self.command != "GET":
            return error(403, "Resource not accessible by integration")
        if "owner" in call.parameters and path.split("/")[2:4] != fake.github.full_name.split("/"):
            return error(404, "Not Found")
        base = f"http://{self.headers['Host']}{fake.prefix}"
        route = ROUTES.get((self.command, call.template))
        if route is None:
            return self._violation([f"the fake does not play {self.command} {call.template}"])
        answer = route(fake.github, Request(call=call, query=query, body=body, base=base, identity=identity))
        if failure := fake.planned(self.command, path, after=True):
            return Answer(status=failure.status, body={"message": failure.message}, headers=failure.headers)
        return answer

    def _violation(self, problems: list[str]) -> Answer:
        self.fake.violations += [f"{self.command} {self.path}: {problem}" for problem in problems]
        return Answer(status=599, body={"message": "; ".join(problems)})


def _control(fake: GithubServer, method: str, path: str, body: bytes) -> Answer:
    given = json.loads(body) if body else {}
    with fake.lock:
        match method, path:
            case "GET", "/_fake/state":
                return Answer(status=200, body=fake.state())
            case "POST", "/_fake/comments":
                return Answer(status=201, body=asdict(fake.comment(**given)))
            case "POST", "/_fake/pulls":
                return Answer(status=201, body=asdict(fake.pull(**given)))
            case "POST", "/_fake/failures":
                fake.fail(**given)
                return Answer(status=201, body={})
    return Answer(status=404, body={"message": f"no {method} {path}"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True, help="a git repository; its local branches are served")
    parser.add_argument("--full-name", default="acme/shop")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--prefix", default="", help="/api/v3 for a GitHub Enterprise Server")
    parser.add_argument("--token", default="token", help="writes as github-actions[bot]")
    parser.add_argument("--read-only-token", default="read-only-token")
    parser.add_argument("--pat", default="pat", help="writes as the user octocat")
    options = parser.parse_args()
    server = GithubServer(
        GitRepo(options.repo),
        full_name=options.full_name,
        host=options.host,
        port=options.port,
        prefix=options.prefix,
        tokens={
            options.token: Identity(),
            options.read_only_token: Identity(read_only=True),
            options.pat: Identity(login="octocat", tells=True),
        },
    )
    with server:
        print(json.dumps({"url": server.url}), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
