"""The fake GitHub judges requests and itself, in this process and as a program."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gitdir import commit, git
from tests.fakes.github_answers import ROUTES, Answer
from tests.fakes.github_openapi import description_path
from tests.fakes.github_server import GithubServer

COMMENTS = "/repos/acme/shop/issues/1/comments"


def ask(url: str, method: str = "GET", body: Any = None, token: str = "token") -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers={"Authorization": f"token {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", COMMENTS, {"text": "hi"}),
        ("POST", COMMENTS, {"body": 3}),
        ("POST", COMMENTS, {"body": "hi", "extra": 1}),
        ("GET", f"{COMMENTS}?per_page=many", None),
        ("GET", f"{COMMENTS}?sort=age", None),
        ("GET", "/repos/acme/shop/issues/one/comments", None),
        ("GET", "/repos/acme/shop/made-up", None),
        ("PUT", COMMENTS, {"body": "hi"}),
    ],
)
def test_a_request_that_github_does_not_describe_is_a_violation(
    server: GithubServer, method: str, path: str, body: Any
) -> None:
    assert ask(server.url + path, method, body)[0] == 599
    assert server.violations
    assert server.comments == []
    server.violations.clear()


def test_an_answer_that_github_does_not_describe_is_a_violation(
    server: GithubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ("GET", "/repos/{owner}/{repo}/branches")
    monkeypatch.setitem(ROUTES, key, lambda state, request: Answer(status=200, body=[{"name": "main"}]))
    assert ask(f"{server.url}/repos/acme/shop/branches")[0] == 599
    assert any("'commit' is a required property" in violation for violation in server.violations)
    server.violations.clear()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[str]:
    """The server as a program over a git repository; its URL."""
    if not description_path().exists():
        pytest.skip(f"{description_path()} is absent")
    git(tmp_path, "init", "-q", "-b", "release/1.0")
    commit(tmp_path, {"results/tjbench_a.json": b"{}"})
    command = [sys.executable, "-m", "tests.fakes.github_server", "--port", "0", "--repo", str(tmp_path)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def test_as_a_program_it_serves_a_repository_and_shows_what_happened(program: str) -> None:
    status, branches = ask(f"{program}/repos/acme/shop/branches")
    assert (status, [branch["name"] for branch in branches]) == (200, ["release/1.0"])
    assert ask(f"{program}/_fake/comments", "POST", {"body": "talk", "author": "alice"})[0] == 201
    assert ask(f"{program}/_fake/failures", "POST", {"status": 502, "method": "PATCH"})[0] == 201
    assert ask(program + COMMENTS, "POST", {"body": "mine"}, token="read-only-token")[0] == 403
    status, made = ask(program + COMMENTS, "POST", {"body": "mine"})
    assert (status, made["user"]["login"]) == (201, "github-actions[bot]")
    assert ask(made["url"], "PATCH", {"body": "changed"})[0] == 502
    assert ask(made["url"], "PATCH", {"body": "changed"})[0] == 200
    assert ask(f"{program}/user", token="pat")[1]["login"] == "octocat"
    _, state = ask(f"{program}/_fake/state")
    assert [(c["author"], c["body"]) for c in state["comments"]] == [
        ("alice", "talk"),
        ("github-actions[bot]", "changed"),
    ]
    assert state["violations"] == []
    assert state["requests"][0] == "GET /repos/acme/shop/branches"
