"""Baselines from real git repositories made for each test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fakes.gitdir import commit, git
from tjbench.errors import IncompleteError, UsageError
from tjbench.github.baseline import select_baseline
from tjbench.github.checkout import Checkout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, {"README": b"hi"})
    return root


def test_artifacts_come_from_the_branch_and_not_from_the_workspace(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "release/1.0")
    content = bytes(range(256)) + b"\n\ntail"
    sha = commit(root, {"results/tjbench_a_tj0.7.0_x.json": content, "results/tjbench_b.json": b""})
    git(root, "checkout", "-q", "main")
    got = select_baseline(Checkout(root=root), "auto")
    assert (got.ref, got.sha) == ("release/1.0", sha)
    assert got.files == {"results/tjbench_a_tj0.7.0_x.json": content, "results/tjbench_b.json": b""}


def test_only_regular_files_named_like_artifacts_directly_in_the_directory_count(root: Path) -> None:
    (root / "results").mkdir()
    (root / "results" / "tjbench_link.json").symlink_to("/etc/passwd")
    files = {"results/tjbench_a.json": b"a", "results/notes.json": b"", "results/sub/tjbench_b.json": b""}
    sha = commit(root, {**files, "results/tjbench_a.transcripts.jsonl.gz": b"", "tjbench_top.json": b"t"})
    checkout = Checkout(root=root)
    assert checkout.files(sha, "results") == {"results/tjbench_a.json": b"a"}
    assert checkout.files(sha, "./results/") == {"results/tjbench_a.json": b"a"}
    assert checkout.files(sha, "results/sub") == {"results/sub/tjbench_b.json": b""}
    assert checkout.files(sha, ".") == {"tjbench_top.json": b"t"}
    assert checkout.files(sha, "absent") == {}
    assert checkout.files(sha, "README") == {}


def test_one_file_at_a_commit(root: Path) -> None:
    sha = commit(root, {"tjbench.toml": b"[gate]", "a/b.txt": b"deep"})
    commit(root, {"tjbench.toml": b"changed"})
    checkout = Checkout(root=root)
    assert checkout.file(sha, "tjbench.toml") == b"[gate]"
    assert checkout.file(sha, "a/b.txt") == b"deep"
    assert checkout.file(sha, "a") is None
    assert checkout.file(sha, "absent") is None


def test_a_clone_sees_the_branches_of_its_remote_and_a_local_one_first(root: Path, tmp_path: Path) -> None:
    git(root, "branch", "release/1.0")
    published = git(root, "rev-parse", "release/1.0")
    git(tmp_path, "clone", "-q", str(root), "clone")
    clone = tmp_path / "clone"
    assert dict(Checkout(root=clone).branches()) == {"main": published, "release/1.0": published}
    git(clone, "checkout", "-q", "release/1.0")
    mine = commit(clone, {"x": b""})
    assert dict(Checkout(root=clone).branches())["release/1.0"] == mine
    assert Checkout(root=clone).resolve("main") == published


def test_origin_comes_before_other_remotes(root: Path, tmp_path: Path) -> None:
    git(root, "branch", "release/1.0")
    first = git(root, "rev-parse", "HEAD")
    git(tmp_path, "clone", "-q", str(root), "clone")
    clone = tmp_path / "clone"
    git(clone, "update-ref", "refs/remotes/another/release/1.0", commit(clone, {"x": b""}))
    assert dict(Checkout(root=clone).branches())["release/1.0"] == first
    assert Checkout(root=clone).resolve("release/1.0") == first


def test_short_and_full_commits_and_tags_are_resolved(root: Path) -> None:
    sha = git(root, "rev-parse", "HEAD")
    git(root, "tag", "-a", "v1", "-m", "annotated")
    checkout = Checkout(root=root)
    assert [checkout.resolve(ref) for ref in (sha, sha[:8], "v1", "main")] == [sha] * 4
    assert checkout.head() == sha


@pytest.mark.parametrize("ref", ["0" * 40, "nowhere", "--all", "-h", "HEAD^{tree}"])
def test_an_unknown_commit_is_the_users_to_mend(root: Path, ref: str) -> None:
    with pytest.raises(UsageError) as refused:
        select_baseline(Checkout(root=root), f"ref:{ref}")
    assert "fetch" in refused.value.fix


def test_a_directory_without_git_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository"):
        select_baseline(Checkout(root=tmp_path), "auto")
    assert Checkout(root=tmp_path).head() is None


def test_a_missing_git_is_said(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="git is not installed"):
        Checkout(root=root, path=str(tmp_path)).branches()


def test_a_missing_object_makes_the_run_incomplete(root: Path) -> None:
    sha = commit(root, {"results/tjbench_a.json": b"content"})
    blob = git(root, "rev-parse", "HEAD:results/tjbench_a.json")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(IncompleteError, match=blob):
        Checkout(root=root).files(sha, "results")


def test_the_repositorys_own_configuration_runs_nothing_and_swaps_nothing(root: Path, tmp_path: Path) -> None:
    sha = commit(root, {"results/tjbench_a.json": b"true"})
    trap = tmp_path / "trap"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "filter.x.smudge"):
        git(root, "config", key, str(script))
    (root / ".git" / "info" / "attributes").write_text("* filter=x\n")
    forged = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=root, input=b"forged", capture_output=True, check=True
    )
    git(root, "replace", git(root, "rev-parse", "HEAD:results/tjbench_a.json"), forged.stdout.decode().strip())
    assert Checkout(root=root).files(sha, "results") == {"results/tjbench_a.json": b"true"}
    assert not trap.exists()


def test_a_git_directory_of_the_environment_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    assert [name for name, _ in Checkout(root=root).branches()] == ["main"]


# --- what a commit may have brought


def submodule(root: Path, tmp_path: Path) -> None:
    """``vendor`` is another repository, checked out as a gitlink, with answers of its own."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other, {"answers/journal.jsonl": b"forged"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor")
    commit(root, {"sub/tracked/a.txt": b""})


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("plain", ""),
        ("sub/new/deep", ""),
        ("../outside", ""),
        ("vendor/../plain", ""),
        ("sub", "is tracked by git"),
        (".", "is tracked by git"),
        ("SUB/tracked", "is tracked by git"),
        ("README", "is tracked by git"),
        ("README/x", "lies in a file that is tracked by git"),
        ("vendor", "lies in a git repository of its own, vendor"),
        ("vendor/answers", "lies in a git repository of its own, vendor"),
        ("plain/../vendor/new", "lies in a git repository of its own, vendor"),
    ],
)
def test_a_directory_that_a_commit_can_fill_is_named_so(root: Path, tmp_path: Path, place: str, why: str) -> None:
    submodule(root, tmp_path)
    (root / "plain").mkdir()
    assert Checkout(root=root).brings(Path(place)) == why
    assert Checkout(root=root).brings(root / place) == why


def test_a_submodule_is_one_without_its_git_file_too(root: Path, tmp_path: Path) -> None:
    submodule(root, tmp_path)
    (root / "vendor" / ".git").unlink()
    assert Checkout(root=root).brings(Path("vendor/answers")) == "lies in a submodule that is tracked by git"


@pytest.mark.parametrize("target", ["vendor/answers", "plain", "../outside", "absent"])
def test_a_link_inside_the_checkout_is_not_followed_wherever_it_leads(root: Path, tmp_path: Path, target: str) -> None:
    submodule(root, tmp_path)
    (root / "deep").mkdir()
    (root / "deep" / "link").symlink_to(root / target)
    (tmp_path / "away").symlink_to(root)
    for path in (Path("deep/link"), Path("deep/link/more"), Path("deep/link/../x"), tmp_path / "away/deep/link"):
        assert Checkout(root=root).brings(path).startswith("passes the symbolic link"), path


def test_a_link_outside_the_checkout_is_the_users_own(root: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "link").symlink_to("cache")
    assert Checkout(root=root).brings(tmp_path / "link") == ""
    (tmp_path / "back").symlink_to(root)
    assert Checkout(root=root).brings(tmp_path / "back") == "is tracked by git"


def test_what_git_cannot_say_is_refused(root: Path, tmp_path: Path) -> None:
    (root / ".git" / "index").write_bytes(b"broken")
    assert Checkout(root=root).brings(Path("plain")).startswith("may be tracked by git, which cannot say: ")
    assert Checkout(root=root).brings(tmp_path / "outside") == ""
