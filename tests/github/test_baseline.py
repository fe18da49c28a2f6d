"""Which branch is the last release, by hand-made lists of names."""

from __future__ import annotations

import random

import pytest

from tjbench.errors import UsageError
from tjbench.github.baseline import Baseline, candidates, release_branches, select_baseline


class Shelf:
    """A repository whose commits are named after their branch: ``sha-of-NAME``."""

    def __init__(self, branches: dict[str, dict[str, bytes]]) -> None:
        self.contents = branches
        self.listed = 0

    def branches(self) -> list[tuple[str, str]]:
        self.listed += 1
        return [(name, f"sha-of-{name}") for name in self.contents]

    def resolve(self, ref: str) -> str:
        if ref not in self.contents:
            raise UsageError(f"no {ref}")
        return f"sha-of-{ref}"

    def files(self, sha: str, directory: str) -> dict[str, bytes]:
        return self.contents[sha.removeprefix("sha-of-")] if directory == "results" else {}

    def file(self, sha: str, path: str) -> bytes | None:
        return None


NAMES = ["main", "release/0.6.0", "release/0.10", "release/0.6.1", "release/0.9"]


def test_names_of_all_four_spellings_are_release_branches() -> None:
    names = ["release/1.4", "release-1.3", "releases/1.2", "v1.1", "release/v1.0"]
    shuffled = random.Random(0).sample(names, len(names))
    assert [branch.name for branch in release_branches(shuffled)] == names


@pytest.mark.parametrize(
    "name",
    ["main", "release/next", "release", "release/", "v", "version-2", "vendor", "feature/release/1.0", "Release/1.0"],
)
def test_other_names_are_not(name: str) -> None:
    assert release_branches([name]) == []


def test_the_order_is_that_of_versions() -> None:
    names = ["v0.6.0rc1", "v0.6.1", "v0.6.0", "v0.10", "v0.6.0.dev1", "v0.6.0.post1"]
    assert [branch.name for branch in release_branches(names)] == [
        "v0.10",
        "v0.6.1",
        "v0.6.0.post1",
        "v0.6.0",
        "v0.6.0rc1",
        "v0.6.0.dev1",
    ]


def test_of_equal_versions_the_slash_spelling_comes_first() -> None:
    names = {"v1.0", "releases/1.0.0", "release-1.0", "release/1.0"}
    expected = ["release/1.0", "release-1.0", "releases/1.0.0", "v1.0"]
    assert [branch.name for branch in release_branches(names)] == expected


def test_by_default_the_highest_final_release_then_lower_ones() -> None:
    expected = ["release/0.10", "release/0.9", "release/0.6.1", "release/0.6.0"]
    assert candidates(NAMES, base_ref="main") == expected
    assert candidates(NAMES, push_ref="main") == expected
    assert candidates(NAMES) == expected


def test_a_release_candidate_is_no_yardstick_while_a_release_is() -> None:
    assert candidates(["release/2.0rc1", "release/1.0", "release/1.1.dev1"], base_ref="main") == [
        "release/1.0",
        "release/2.0rc1",
        "release/1.1.dev1",
    ]
    assert candidates(["release/2.0rc1", "release/2.0rc2"]) == ["release/2.0rc2", "release/2.0rc1"]


def test_a_pull_request_into_a_release_branch_uses_that_branch() -> None:
    assert candidates(NAMES, base_ref="release/0.6.1") == ["release/0.6.1", "release/0.6.0"]
    assert candidates([*NAMES, "v0.6.1"], base_ref="v0.6.1") == ["v0.6.1", "release/0.6.1", "release/0.6.0"]
    assert candidates(["release/1.0rc1", "release/0.9"], base_ref="release/1.0rc1")[0] == "release/1.0rc1"


def test_a_push_to_a_release_branch_uses_the_next_lower_one() -> None:
    assert candidates(NAMES, push_ref="release/0.9") == ["release/0.6.1", "release/0.6.0"]
    assert candidates(NAMES, push_ref="release/0.6.0") == []
    assert candidates(["release/1.0", "v1.0", "release/1.0rc1"], push_ref="release/1.0") == ["release/1.0rc1"]


ARTIFACT = {"results/tjbench_x.json": b"{}"}


def test_auto_pins_the_commit_and_lists_the_branches_once() -> None:
    shelf = Shelf({"main": {}, "release/1.0": ARTIFACT})
    got = select_baseline(shelf, "auto", base_ref="main")
    assert got == Baseline(ref="release/1.0", sha="sha-of-release/1.0", files=ARTIFACT)
    assert shelf.listed == 1


def test_a_branch_without_artifacts_falls_to_the_next_lower_and_says_so() -> None:
    got = select_baseline(Shelf({"release/1.1": {}, "release/1.0": ARTIFACT}), "auto")
    assert got.ref == "release/1.0"
    assert len(got.notes) == 1
    assert got.notes[0].startswith("release/1.1 (sha-of-relea) holds no artifacts")


def test_no_release_branch_is_a_first_run_not_an_error() -> None:
    got = select_baseline(Shelf({"main": ARTIFACT, "feature": {}}), "auto")
    assert (got.ref, got.sha, got.files) == (None, None, {})
    assert "feature, main" in got.notes[0]


def test_release_branches_without_any_artifact_are_a_first_run_too() -> None:
    got = select_baseline(Shelf({"release/1.1": {}, "release/1.0": {}}), "auto")
    assert got.ref is None
    assert len(got.notes) == 2


def test_only_the_configured_branches_count_in_their_order() -> None:
    shelf = Shelf({"release/2.0": ARTIFACT, "stable": ARTIFACT, "lts": ARTIFACT})
    got = select_baseline(shelf, "auto", branches=["lts", "stable"], base_ref="release/2.0")
    assert (got.ref, got.sha, got.notes) == ("lts", "sha-of-lts", ())
    assert shelf.listed == 1


def test_configured_branches_that_are_absent_or_empty_are_passed_over_and_said() -> None:
    got = select_baseline(Shelf({"empty": {}, "stable": ARTIFACT}), "auto", branches=["gone", "empty", "stable"])
    assert got.ref == "stable"
    assert got.notes == ("branch gone does not exist", "empty (sha-of-empty) holds no artifacts in results")


def test_no_configured_branch_is_no_baseline_even_beside_a_release_branch() -> None:
    got = select_baseline(Shelf({"release/1.0": ARTIFACT}), "auto", branches=["stable"])
    assert got == Baseline(notes=("branch stable does not exist",))


def test_configured_branches_say_nothing_about_a_branch_asked_for_by_name() -> None:
    assert select_baseline(Shelf({"main": ARTIFACT}), "branch:main", branches=["stable"]).ref == "main"


def test_a_named_branch_is_used_whatever_its_name() -> None:
    got = select_baseline(Shelf({"main": ARTIFACT}), "branch:main")
    assert (got.ref, got.sha, got.files, got.notes) == ("main", "sha-of-main", ARTIFACT, ())


def test_an_absent_branch_is_an_error_that_names_those_seen() -> None:
    with pytest.raises(UsageError) as refused:
        select_baseline(Shelf({"main": {}, "release/1.0": {}}), "branch:release/2.0")
    assert refused.value.exit_code == 2
    assert "release/2.0" in refused.value.what
    assert "main, release/1.0" in refused.value.why


def test_a_named_commit_without_artifacts_says_so() -> None:
    got = select_baseline(Shelf({"main": {}}), "ref:main")
    assert (got.ref, got.sha, got.files) == ("main", "sha-of-main", {})
    assert "no artifacts" in got.notes[0]


def test_none_asks_the_repository_nothing() -> None:
    shelf = Shelf({"release/1.0": ARTIFACT})
    assert select_baseline(shelf, "none").files == {}
    assert shelf.listed == 0


@pytest.mark.parametrize("request_", ["", "branch:", "branch", "latest", "ref:", "auto:x", "path:results"])
def test_anything_else_is_refused_with_what_is_allowed(request_: str) -> None:
    with pytest.raises(UsageError, match="branch:NAME"):
        select_baseline(Shelf({}), request_)


@pytest.mark.parametrize("directory", ["/etc", "../results", "a/../../b"])
def test_a_directory_outside_the_repository_is_refused(directory: str) -> None:
    with pytest.raises(UsageError, match="inside the repository"):
        select_baseline(Shelf({}), "auto", directory=directory)
