"""The workflow of docs/github-action.md that splits a run over a job matrix, step by step against the unsplit run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.gitdir import git
from tests.fakes.github_openapi import description_path
from tests.fakes.github_repo import GitRepo
from tests.fakes.github_server import GithubServer
from tests.fakes.provider import FakeProvider
from tests.fakes.shop import NAME, TASKS, Outcome, Shop, found_shop
from tests.fakes.sums import adding
from tests.fakes.tokenjam import make_tokenjam
from tjbench.errors import ExitCode

GUIDE = Path(__file__).parents[1] / "docs/github-action.md"
ACTION = "tokenjam/bench-action@v1"


def workflow() -> Mapping[str, Any]:
    """The one workflow of the guide that has a matrix."""
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (found,) = [block for block in blocks if "matrix:" in block]
    loaded: Mapping[str, Any] = yaml.safe_load(found)
    return loaded


def inputs(job: Mapping[str, Any], **context: object) -> dict[str, Any]:
    (step,) = [step for step in job["steps"] if step["uses"] == ACTION]
    text = {name: str(value) for name, value in step["with"].items()}
    for name, value in context.items():
        text = {key: given.replace(f"${{{{ {name.replace('_', '.')} }}}}", str(value)) for key, given in text.items()}
    assert not any("${{" in given for given in text.values())
    return {name.replace("-", "_"): value for name, value in text.items()}


@pytest.fixture
def wrong() -> dict[str, Any]:
    return {}


@pytest.fixture
def shop(tmp_path: Path, wrong: dict[str, Any]) -> Iterator[Shop]:
    """A shop with a release whose baseline is what it measures today."""
    if not description_path().exists():
        pytest.skip(f"{description_path()} is absent")
    found_shop(tmp_path / "origin")
    with (
        FakeProvider(lambda ask: adding(wrong)(ask)) as provider,
        GithubServer(GitRepo(tmp_path / "origin"), full_name=NAME) as github,
    ):
        opened = Shop(
            origin=tmp_path / "origin",
            scratch=tmp_path,
            github=github,
            provider=provider,
            tokenjam=make_tokenjam(tmp_path / "tokenjam"),
        )
        baseline = {f"results/{path.name}": path.read_bytes() for path in opened.run().artifacts()}
        opened.commit("release/1.0", baseline, start="main")
        provider.asks.clear()
        yield opened
    assert github.violations == []


def pull_request(shop: Shop) -> dict[str, Any]:
    head = shop.commit("change", {"README.md": b"changed"}, start="main")
    payload = {
        "pull_request": {
            "number": 1,
            "head": {"sha": head, "repo": {"full_name": NAME}},
            "base": {"sha": shop.sha("main"), "ref": "main", "repo": {"full_name": NAME}},
        }
    }
    return {"event": "pull_request", "payload": payload, "ref": head, "sha": head}


def measure(shop: Shop, event: Mapping[str, Any], downloads: Path, leave_out: int = 0) -> list[Outcome]:
    """The matrix: each job in a clone of its own; what it uploads is downloaded into one directory."""
    job = workflow()["jobs"]["measure"]
    downloads.mkdir(exist_ok=True)
    got = []
    for shard in job["strategy"]["matrix"]["shard"]:
        got.append(shop.run(**event, **inputs(job, matrix_shard=shard)))
        for path in got[-1].artifacts():
            if shard != leave_out:
                shutil.copy(path, downloads)
    return got


def judge(shop: Shop, event: Mapping[str, Any], downloads: Path, **more: Any) -> Outcome:
    """The last job: a clone of its own with what the others uploaded, and no model to ask."""
    given = inputs(workflow()["jobs"]["gate"])
    workspace = shop.clone(event["ref"])
    shutil.copytree(downloads, workspace / given["merge"])
    return shop.run(**event, workspace=workspace, live=False, **given, **more)


@pytest.mark.parametrize("broken", [(), range(12)])
def test_the_documented_matrix_ends_as_the_unsplit_run_does(
    shop: Shop, wrong: dict[str, Any], tmp_path: Path, broken: Any
) -> None:
    wrong["small"] = broken
    event = pull_request(shop)
    whole = shop.run(**event, reuse="never")  # as shards do, which know of no baseline
    (comment,) = shop.comments()
    shop.provider.asks.clear()
    shards = measure(shop, event, tmp_path / "downloads")
    assert [shard.code for shard in shards] == [ExitCode.PASSED] * 4
    assert len(shop.provider.asks) == 2 * TASKS
    assert shop.comments() == [comment]  # a shard says nothing
    got = judge(shop, event, tmp_path / "downloads")
    assert len(shop.provider.asks) == 2 * TASKS
    assert got.code == whole.code == (ExitCode.REGRESSION if broken else ExitCode.PASSED)
    assert got.decision == whole.decision
    assert float(got.outputs["cost-usd"]) == pytest.approx(sum(float(s.outputs["cost-usd"]) for s in shards))
    assert float(got.outputs["cost-usd"]) > 0
    assert len(shop.comments()) == 1


def test_a_merged_regression_says_that_it_was_not_confirmed(shop: Shop, wrong: dict[str, Any], tmp_path: Path) -> None:
    wrong["small"] = range(12)
    event = pull_request(shop)
    measure(shop, event, tmp_path / "downloads")
    asked = len(shop.provider.asks)
    got = judge(shop, event, tmp_path / "downloads", confirm="true")
    assert got.code == ExitCode.REGRESSION
    assert len(shop.provider.asks) == asked
    (comment,) = shop.comments()
    assert "the tasks that broke were not asked once more" in comment


def test_a_job_that_brought_nothing_makes_the_run_incomplete_and_is_named(shop: Shop, tmp_path: Path) -> None:
    event = pull_request(shop)
    measure(shop, event, tmp_path / "downloads", leave_out=3)
    got = judge(shop, event, tmp_path / "downloads")
    assert (got.code, got.outputs["status"]) == (ExitCode.INCOMPLETE, "incomplete")
    assert "shard 3 of 4 is missing" in shop.comments()[0]


def test_shards_that_a_pull_request_brought_are_refused(shop: Shop, tmp_path: Path) -> None:
    event = pull_request(shop)
    measure(shop, event, tmp_path / "downloads")
    brought = {f"shards/{path.name}": path.read_bytes() for path in (tmp_path / "downloads").iterdir()}
    head = shop.commit("forged", brought, start="main")
    got = shop.run("pull_request", event["payload"], ref=head, sha=head, merge="shards")
    assert got.code == ExitCode.USAGE
    assert "tracked by git" in got.log


def test_shards_of_another_commit_are_not_judged(shop: Shop, tmp_path: Path) -> None:
    event = pull_request(shop)
    measure(shop, event, tmp_path / "downloads")
    head = shop.commit("later", {"README.md": b"again"}, start="main")
    workspace = shop.clone(head)
    shutil.copytree(tmp_path / "downloads", workspace / "shards")
    got = shop.run(ref=head, workspace=workspace, merge="shards")
    assert got.code == ExitCode.INCOMPLETE
    assert f"commit {event['sha']}, here {git(workspace, 'rev-parse', 'HEAD')}" in got.log


def test_a_shard_cannot_be_a_judge(shop: Shop) -> None:
    got = shop.run(shard="1/2", merge="shards")
    assert (got.code, "exclude each other" in got.log) == (ExitCode.USAGE, True)
    assert shop.run(shard="3/2").code == ExitCode.USAGE
