"""Baselines over the API, from a server that answers as GitHub describes itself."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from github import Github

from tests.fakes.gitdir import commit, git
from tests.fakes.github_repo import GitRepo, MemoryRepo
from tests.fakes.github_server import GithubServer
from tjbench.errors import IncompleteError, UsageError
from tjbench.github.api import ApiRepository
from tjbench.github.baseline import select_baseline
from tjbench.github.checkout import Checkout

Connect = Callable[..., Github]
FILES: dict[str, bytes | str] = {
    "README": b"hi",
    "results/tjbench_a.json": bytes(range(256)),
    "results/tjbench_b.json": b"",
    "results/tjbench_link.json": "/etc/passwd",
    "results/notes.json": b"",
    "results/deep/er/tjbench_c.json": "ünïcode".encode(),
    "tjbench_top.json": b"t",
}


@pytest.fixture
def api(server: GithubServer, connected: Connect) -> ApiRepository:
    server.github.repo = MemoryRepo({"main": {}, "release/1.0": FILES})
    return ApiRepository(client=connected(server.url), full_name="acme/shop")


def test_the_last_release_is_read_in_few_requests(server: GithubServer, api: ApiRepository) -> None:
    got = select_baseline(api, "auto", base_ref="main")
    assert got.files == {"results/tjbench_a.json": bytes(range(256)), "results/tjbench_b.json": b""}
    assert got.sha == dict(api.branches())["release/1.0"]
    # branches, the root, results, two blobs; then the branches again, by the line above
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        ("results/deep/er", {"results/deep/er/tjbench_c.json": "ünïcode".encode()}),
        ("./results/deep/er/", {"results/deep/er/tjbench_c.json": "ünïcode".encode()}),
        (".", {"tjbench_top.json": b"t"}),
        ("absent/at/all", {}),
        ("README", {}),
        ("results/tjbench_link.json", {}),
    ],
)
def test_a_directory_of_any_depth(api: ApiRepository, directory: str, expected: dict[str, bytes]) -> None:
    assert api.files(api.resolve("release/1.0"), directory) == expected


def test_one_file_at_a_commit(api: ApiRepository) -> None:
    sha = api.resolve("release/1.0")
    assert api.file(sha, "README") == b"hi"
    assert api.file(sha, "results/deep/er/tjbench_c.json") == "ünïcode".encode()
    assert api.file(sha, "results") is None
    assert api.file(sha, "no/such") is None
    assert api.file(sha, "results/tjbench_link.json") is None


def test_branches_beyond_the_first_page_are_seen(server: GithubServer, api: ApiRepository) -> None:
    repo = MemoryRepo({f"a/{number:03}": {} for number in range(230)})
    server.github.repo = repo
    repo.commit_to("release/1.0", FILES)
    assert len(api.branches()) == 231
    assert select_baseline(api, "auto").ref == "release/1.0"
    queries = [parse_qs(request.partition("?")[2]) for request in server.requests[:3]]
    assert [query.get("page") for query in queries] == [None, ["2"], ["3"]]
    assert all(query["per_page"] == ["100"] for query in queries)


def test_a_ref_is_resolved_to_its_full_commit(server: GithubServer, api: ApiRepository) -> None:
    sha = server.github.repo.branches()["release/1.0"]
    assert [api.resolve(ref) for ref in ("release/1.0", sha, sha[:10])] == [sha] * 3


def test_an_enterprise_server_is_asked_under_its_own_path(connected: Connect, server: GithubServer) -> None:
    server.prefix = "/api/v3"
    server.github.repo = MemoryRepo({"release/1.0": FILES, **{f"b{n}": {} for n in range(101)}})
    api = ApiRepository(client=connected(f"{server.url}/"), full_name="acme/shop")
    assert server.url.endswith("/api/v3")
    assert select_baseline(api, "auto").ref == "release/1.0"


def test_both_sources_read_a_real_repository_alike(server: GithubServer, api: ApiRepository, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "release/1.0")
    commit(tmp_path, {"results/tjbench_é.json": b"1", "results/tjbench_b c.json": b"\0\n"})
    git(tmp_path, "branch", "main")
    server.github.repo = GitRepo(tmp_path)
    local = Checkout(root=tmp_path)
    assert api.branches() == local.branches()
    assert select_baseline(api, "auto") == select_baseline(local, "auto")
    assert select_baseline(api, "auto").files == {"results/tjbench_é.json": b"1", "results/tjbench_b c.json": b"\0\n"}


def test_a_truncated_directory_is_never_taken_for_an_empty_one(server: GithubServer, api: ApiRepository) -> None:
    sha = api.resolve("release/1.0")
    root = server.github.repo.commit(sha)
    assert root is not None
    server.github.truncated.add(root[1])
    assert api.file(sha, "README") == b"hi"  # named in the part that came
    with pytest.raises(IncompleteError, match="too long"):
        api.files(sha, "results")


def test_a_truncated_directory_of_artifacts_is_refused(server: GithubServer, api: ApiRepository) -> None:
    sha = api.resolve("release/1.0")
    root = server.github.repo.commit(sha)
    assert root is not None
    results = next(e.sha for e in server.github.repo.tree(root[1]) or [] if e.name == "results")
    server.github.truncated.add(results)
    with pytest.raises(IncompleteError):
        api.files(sha, "results")


# --- when GitHub says no


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_passing_outage_is_waited_out(server: GithubServer, api: ApiRepository, status: int) -> None:
    server.fail(status, times=2, headers={"Retry-After": "0"} if status == 429 else {})
    assert select_baseline(api, "auto").ref == "release/1.0"


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_lasting_outage_makes_the_run_incomplete(server: GithubServer, api: ApiRepository, status: int) -> None:
    server.fail(status, times=99)
    with pytest.raises(IncompleteError) as stopped:
        select_baseline(api, "auto")
    assert stopped.value.exit_code == 3
    assert str(status) in stopped.value.why
    assert len(server.requests) == 3  # one and two retries


def test_a_retry_after_an_hour_is_not_obeyed_in_full(server: GithubServer, api: ApiRepository) -> None:
    server.fail(429, times=1, headers={"Retry-After": "3600"})
    assert api.branches()


def test_an_exhausted_rate_limit_is_not_sat_out(server: GithubServer, api: ApiRepository) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}
    server.fail(403, times=99, headers=headers, message="API rate limit exceeded for installation")
    with pytest.raises(IncompleteError, match="rate limit"):
        api.branches()
    assert len(server.requests) == 1


def test_nobody_at_the_address_makes_the_run_incomplete(connected: Connect) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(IncompleteError) as stopped:
            select_baseline(ApiRepository(client=connected(url), full_name="acme/shop"), "auto")
    assert url in stopped.value.what


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_bad_token_is_named(server: GithubServer, connected: Connect, token: str) -> None:
    api = ApiRepository(client=connected(server.url, token), full_name="acme/shop")
    with pytest.raises(UsageError) as refused:
        api.branches()
    assert "github-token" in refused.value.fix
    assert "401" in refused.value.why


def test_an_unknown_repository_is_named(server: GithubServer, connected: Connect) -> None:
    api = ApiRepository(client=connected(server.url), full_name="acme/attic")
    with pytest.raises(UsageError) as refused:
        api.branches()
    assert "acme/attic" in refused.value.what
    assert "contents: read" in refused.value.fix


def test_a_token_without_the_permission_is_told_which(server: GithubServer, api: ApiRepository) -> None:
    server.fail(403, times=1, message="Resource not accessible by integration")
    with pytest.raises(UsageError) as refused:
        api.branches()
    assert "contents: read" in refused.value.fix
    assert len(server.requests) == 1


def test_an_unknown_commit_is_the_users_to_mend(api: ApiRepository) -> None:
    with pytest.raises(UsageError, match="0123456789"):
        select_baseline(api, "ref:0123456789")
