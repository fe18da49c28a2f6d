"""The door to the suites: names, paths, and what a pull request may not reach."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.shared import shared
from tjbench.errors import UsageError
from tjbench.suites import builtin_suites, is_path, load_suite

ROW = {"question": "What is 6 x 7?", "answer": "6 x 7 = <<6*7=42>>42\n#### 42"}
LINE = '{"id": "t", "prompt": "p", "check": {"number": 1}}\n'


def test_a_built_in_suite_goes_by_its_name(tmp_path: Path) -> None:
    assert load_suite("samples", workspace=tmp_path).name == "samples"


@pytest.mark.parametrize("name", ["samples", "humaneval"])
def test_every_listed_suite_loads_with_the_size_it_is_listed_with(name: str, tmp_path: Path) -> None:
    (listed,) = (suite for suite in builtin_suites() if suite.name == name)
    assert len(load_suite(name, workspace=tmp_path).tasks) == listed.n_tasks


def test_the_suite_of_the_hub_has_the_size_it_is_listed_with(tmp_path: Path) -> None:
    (listed,) = (suite for suite in builtin_suites() if suite.name == "gsm8k")
    assert listed.n_tasks == len(load_suite("gsm8k", workspace=tmp_path, data=shared("gsm8k/test.jsonl")).tasks)


def test_an_unknown_name_is_answered_with_the_nearest_and_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_suite("humanevl", workspace=tmp_path)
    assert "did you mean 'humaneval'?" in str(caught.value)
    assert "samples, humaneval, gsm8k" in str(caught.value)


def test_rows_from_a_file_are_refused_for_a_suite_that_takes_none(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(LINE)
    for name in ("samples", "own.jsonl"):
        with pytest.raises(UsageError, match="takes no data file"):
            load_suite(name, workspace=tmp_path, data=Path("rows.jsonl"))


def test_rows_come_from_the_named_file_else_from_the_directory(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "one.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "rows" / "gsm8k.jsonl.gz").write_bytes(gzip.compress((json.dumps(ROW) + "\n").encode() * 2))
    directory = tmp_path / "rows"
    assert len(load_suite("gsm8k", workspace=tmp_path, data_dir=directory).tasks) == 2
    assert len(load_suite("gsm8k", workspace=tmp_path, data=Path("one.jsonl"), data_dir=directory).tasks) == 1
    (directory / "gsm8k.jsonl").write_text(json.dumps(ROW) * 1 + "\n" + "\n" + json.dumps(ROW) + "\n" + json.dumps(ROW))
    assert len(load_suite("gsm8k", workspace=tmp_path, data_dir=directory).tasks) == 3
    assert len(load_suite("humaneval", workspace=tmp_path, data_dir=directory).tasks) == 164


def test_rows_outside_the_workspace_are_read_only_where_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW))
    for data in (Path("../rows.jsonl"), tmp_path / "rows.jsonl"):
        assert load_suite("gsm8k", workspace=tmp_path / "repo", data=data).n_available == 1
        with pytest.raises(UsageError, match="outside the workspace"):
            load_suite("gsm8k", workspace=tmp_path / "repo", data=data, confine=True)


PATHS = ["a.jsonl", "a.jsonl.gz", "a.yaml", "a.yml", "evals/a", "./a"]


@pytest.mark.parametrize("text", PATHS)
def test_a_path_ends_like_a_suite_file_or_holds_a_slash(text: str) -> None:
    assert is_path(text)


@pytest.mark.parametrize("text", ["samples", "a.json", "yaml"])
def test_anything_else_is_a_name(text: str) -> None:
    assert not is_path(text)


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
