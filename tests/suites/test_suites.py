"""The door to the suites: names, paths, and what a pull request may not reach."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tjbench.errors import UsageError
from tjbench.suites import builtin_suites, is_path, load_suite

LINE = '{"id": "t", "prompt": "p", "check": {"number": 1}}\n'


def test_a_built_in_suite_goes_by_its_name(tmp_path: Path) -> None:
    assert load_suite("samples", workspace=tmp_path).name == "samples"


@pytest.mark.parametrize("entry", builtin_suites(), ids=lambda entry: entry.name)
def test_every_listed_suite_loads_with_the_size_it_is_listed_with(entry: object, tmp_path: Path) -> None:
    listed = next(suite for suite in builtin_suites() if suite == entry)
    assert len(load_suite(listed.name, workspace=tmp_path).tasks) == listed.n_tasks


def test_an_unknown_name_is_answered_with_the_nearest_and_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_suite("humanevl", workspace=tmp_path)
    assert "did you mean 'humaneval'?" in str(caught.value)
    assert "samples, humaneval" in str(caught.value)


def test_rows_from_a_file_are_refused_for_a_suite_that_takes_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes no data file"):
        load_suite("samples", workspace=tmp_path, data=tmp_path / "rows.jsonl")


@pytest.mark.parametrize(("text", "path"), [("a.jsonl", True), ("evals/a", True), ("./a", True), ("samples", False)])
def test_a_path_ends_in_jsonl_or_holds_a_slash(text: str, path: bool) -> None:
    assert is_path(text) is path


def test_a_users_suite_is_named_by_its_path_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "bot.jsonl").write_text(LINE)
    for text in ("evals/bot.jsonl", "./evals/../evals/bot.jsonl", str(tmp_path / "evals" / "bot.jsonl")):
        suite = load_suite(text, workspace=tmp_path, confine=True)
        assert (suite.name, suite.packaged) == ("evals/bot.jsonl", False)


def test_a_suite_outside_the_workspace_is_read_only_where_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "outside.jsonl").write_text(LINE)
    (tmp_path / "repo" / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (tmp_path / "repo" / "folder").symlink_to(tmp_path)
    for text in ("../outside.jsonl", str(tmp_path / "outside.jsonl"), "link.jsonl", "folder/outside.jsonl"):
        assert load_suite(text, workspace=tmp_path / "repo").name == "outside.jsonl"
        with pytest.raises(UsageError, match="outside the workspace"):
            load_suite(text, workspace=tmp_path / "repo", confine=True)


def test_a_sibling_whose_name_begins_like_the_workspace_is_outside(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo-secrets").mkdir()
    (tmp_path / "repo-secrets" / "a.jsonl").write_text(LINE)
    with pytest.raises(UsageError, match="outside the workspace"):
        load_suite("../repo-secrets/a.jsonl", workspace=tmp_path / "repo", confine=True)


@pytest.mark.parametrize("text", ["loop.jsonl", "a\0b.jsonl", "x" * 5000 + ".jsonl", "missing/a.jsonl"])
def test_a_path_that_leads_nowhere_is_one_clear_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    with pytest.raises(UsageError):
        load_suite(text, workspace=tmp_path)


def test_listing_the_suites_loads_none() -> None:
    loaded = "any(module in sys.modules for module in ('pydantic', 'regex'))"
    program = f"import sys, tjbench.suites as suites; suites.builtin_suites(); sys.exit({loaded})"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
