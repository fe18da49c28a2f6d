"""A GitHub on loopback, checked against GitHub's own description, and clients that do not wait between retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from github import Github

from tests.fakes.github_openapi import description_path
from tests.fakes.github_server import GithubServer
from tjbench.github.api import Patience, connect

Connect = Callable[[str, str], Github]


@pytest.fixture
def server() -> Iterator[GithubServer]:
    """A server without branches and comments; a test that leaves a violation behind fails."""
    if not description_path().exists():
        pytest.skip(f"{description_path()} is absent")
    with GithubServer() as running:
        yield running
    assert running.violations == []


@pytest.fixture
def connected() -> Iterator[Connect]:
    """Make a client for a URL and a token: two retries, no pauses."""
    opened = []

    def make(url: str, token: str = "token") -> Github:
        opened.append(connect(url, token, Patience(retries=2, backoff_s=0, longest_wait_s=1, timeout_s=5)))
        return opened[-1]

    yield make
    for client in opened:
        client.close()
