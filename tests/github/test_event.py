"""Events of every kind, with payloads cut down to the fields GitHub documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tjbench.errors import UsageError
from tjbench.github.event import Event, Head, Source, require_trusted_head

BASE = "a" * 40
HEAD = "b" * 40
MERGE = "c" * 40


def event(tmp_path: Path, name: str, payload: dict[str, Any] | None = None, **environ: str) -> Event:
    file = tmp_path / "event.json"
    file.write_text(json.dumps(payload or {}))
    return Event.from_environ(
        {
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(file),
            "GITHUB_REPOSITORY": "acme/shop",
            "GITHUB_SHA": MERGE,
            "GITHUB_WORKFLOW": "ci",
            "GITHUB_JOB": "gate",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_ATTEMPT": "2",
            **environ,
        }
    )


def pull(head_repo: str | None) -> dict[str, Any]:
    return {
        "pull_request": {
            "number": 12,
            "head": {"sha": HEAD, "repo": {"full_name": head_repo} if head_repo else None},
            "base": {"sha": BASE, "ref": "release/1.0", "repo": {"full_name": "acme/shop"}},
        }
    }


def test_a_pull_request_of_the_same_repository(tmp_path: Path) -> None:
    got = event(tmp_path, "pull_request", pull("acme/shop"))
    assert (got.pull_request, got.head_sha, got.base_sha, got.base_ref) == (12, HEAD, BASE, "release/1.0")
    assert got.sha == MERGE
    assert not got.is_fork
    assert got.push_ref is None


@pytest.mark.parametrize("head_repo", ["mallory/shop", None], ids=["fork", "deleted fork"])
def test_a_pull_request_from_elsewhere_is_a_fork(tmp_path: Path, head_repo: str | None) -> None:
    assert event(tmp_path, "pull_request", pull(head_repo)).is_fork


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch", "push", "merge_group", "release", ""])
@pytest.mark.parametrize("payload", [{}, {"pull_request": None}, {"merge_group": 3}])
def test_no_event_needs_a_pull_request(tmp_path: Path, name: str, payload: dict[str, Any]) -> None:
    got = event(tmp_path, name, payload, GITHUB_REF="refs/heads/main")
    assert got.pull_request is None
    assert got.head_sha == MERGE
    assert not got.is_fork
    assert got.push_ref == "main"


def test_nothing_set_at_all_is_an_event_too() -> None:
    got = Event.from_environ({})
    assert (got.name, got.pull_request, got.run_id, got.api_url) == ("", None, 0, "https://api.github.com")


def test_a_push_names_its_branch_and_what_came_before(tmp_path: Path) -> None:
    got = event(tmp_path, "push", {"before": BASE, "after": HEAD}, GITHUB_REF="refs/heads/release/1.0")
    assert (got.push_ref, got.base_sha, got.head_sha) == ("release/1.0", BASE, HEAD)


def test_a_new_branch_has_nothing_before_and_a_tag_is_no_branch(tmp_path: Path) -> None:
    got = event(tmp_path, "push", {"before": "0" * 40, "after": HEAD}, GITHUB_REF="refs/tags/v1.0")
    assert (got.push_ref, got.base_sha) == (None, None)


def test_a_merge_group_has_a_base_but_no_pull_request(tmp_path: Path) -> None:
    group = {"head_sha": HEAD, "base_sha": BASE, "base_ref": "refs/heads/main"}
    got = event(tmp_path, "merge_group", {"merge_group": group}, GITHUB_REF="refs/heads/gh-readonly-queue/main/pr-4")
    assert (got.pull_request, got.head_sha, got.base_sha, got.base_ref) == (None, HEAD, BASE, "main")
    assert got.push_ref is None


def run_of(trigger: str = "pull_request", **changed: Any) -> dict[str, Any]:
    """The payload of a workflow_run that follows a fork's run."""
    run = {
        "id": 41,
        "run_attempt": 3,
        "event": trigger,
        "head_branch": "fix:it",
        "head_sha": HEAD,
        "head_repository": {"full_name": "mallory/shop", "owner": {"login": "mallory"}},
        "pull_requests": [],
    }
    return {"workflow_run": {**run, **changed}}


def test_a_workflow_run_names_the_head_and_the_run_that_it_follows(tmp_path: Path) -> None:
    got = event(tmp_path, "workflow_run", run_of())
    assert (got.head_sha, got.is_fork, got.pull_request) == (HEAD, True, None)
    assert got.source == Source(run_id=41, run_attempt=3, head=Head(owner="mallory", branch="fix:it", sha=HEAD))
    assert (got.run_id, got.run_attempt) == (77, 2)
    assert got.followed.run_url == "https://github.com/acme/shop/actions/runs/41/attempts/3"


def test_a_workflow_run_takes_no_pull_request_from_its_payload(tmp_path: Path) -> None:
    got = event(tmp_path, "workflow_run", run_of(pull_requests=[{"number": 9}]))
    assert got.pull_request is None


@pytest.mark.parametrize(
    "payload",
    [run_of("push"), run_of("schedule"), run_of(head_branch=None), run_of(head_repository=None), run_of(event=7)],
)
def test_a_run_for_no_pull_request_has_no_head_to_comment_on(tmp_path: Path, payload: dict[str, Any]) -> None:
    got = event(tmp_path, "workflow_run", payload)
    assert got.source is not None
    assert got.source.head is None


def test_an_event_that_follows_nothing_is_its_own_source(tmp_path: Path) -> None:
    got = event(tmp_path, "push")
    assert (got.source, got.followed) == (None, got)
    assert event(tmp_path, "workflow_run", {"workflow_run": {"id": "x"}}).source is None


def test_a_comment_on_a_pull_request_knows_its_number(tmp_path: Path) -> None:
    got = event(tmp_path, "issue_comment", {"issue": {"number": 5, "pull_request": {"url": "x"}}})
    assert got.pull_request == 5
    assert event(tmp_path, "issue_comment", {"issue": {"number": 5}}).pull_request is None


def test_links_and_the_gate_id_follow_the_server(tmp_path: Path) -> None:
    got = event(tmp_path, "push", GITHUB_SERVER_URL="https://ghe.acme.test")
    assert got.run_url == "https://ghe.acme.test/acme/shop/actions/runs/77/attempts/2"
    assert got.gate_id == "ci/gate"


def test_a_payload_that_is_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text("{")
    with pytest.raises(UsageError, match=r"broken\.json"):
        Event.from_environ({"GITHUB_EVENT_PATH": str(file)})


def test_a_run_id_that_is_no_number_is_named() -> None:
    with pytest.raises(UsageError, match="GITHUB_RUN_ID"):
        Event.from_environ({"GITHUB_RUN_ID": "seven"})


# --- secrets and foreign code


def test_pull_request_target_may_run_its_own_commit_only(tmp_path: Path) -> None:
    got = event(tmp_path, "pull_request_target", pull("mallory/shop"), GITHUB_SHA=BASE)
    require_trusted_head(got, BASE)
    for head in (HEAD, MERGE, None, ""):
        with pytest.raises(UsageError, match="pull_request_target"):
            require_trusted_head(got, head)


def test_the_head_of_a_pull_request_inside_the_repository_is_trusted(tmp_path: Path) -> None:
    got = event(tmp_path, "pull_request_target", pull("acme/shop"), GITHUB_SHA=BASE)
    require_trusted_head(got, HEAD)


def test_a_comment_event_trusts_only_known_commits(tmp_path: Path) -> None:
    got = event(tmp_path, "issue_comment", {"issue": {"number": 5, "pull_request": {}}}, GITHUB_SHA=BASE)
    require_trusted_head(got, BASE)
    require_trusted_head(got, HEAD, base_commits=[HEAD])
    with pytest.raises(UsageError):
        require_trusted_head(got, HEAD)


def test_a_workflow_run_of_a_fork_is_refused(tmp_path: Path) -> None:
    run = {"head_sha": HEAD, "head_repository": {"full_name": "mallory/shop"}}
    got = event(tmp_path, "workflow_run", {"workflow_run": run}, GITHUB_SHA=BASE)
    with pytest.raises(UsageError) as refused:
        require_trusted_head(got, HEAD)
    assert refused.value.exit_code == 2
    assert "post-comment" in refused.value.fix


def test_a_fork_with_keys_is_refused_and_without_keys_it_is_not(tmp_path: Path) -> None:
    got = event(tmp_path, "pull_request", pull("mallory/shop"))
    require_trusted_head(got, HEAD, keys_present=False)
    with pytest.raises(UsageError, match="fork"):
        require_trusted_head(got, HEAD, keys_present=True)


@pytest.mark.parametrize("name", ["push", "schedule", "workflow_dispatch", "merge_group"])
def test_events_that_only_members_start_are_not_asked(tmp_path: Path, name: str) -> None:
    require_trusted_head(event(tmp_path, name), HEAD)
