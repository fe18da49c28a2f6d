"""What TokenJam recommends, which suites there are, who speaks, and who else answers to our name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tjbench
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import BIG, SMALL, make_tokenjam, snapshot
from tjbench.config import ModelSpec
from tjbench.recommend import find_clashes, recommendation
from tjbench.suites import builtin_suites


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        yield opened


# --- recommendations


def test_a_recommendation_with_what_its_rates_imply(terminal: Terminal) -> None:
    said = terminal.tjb("recommend", "--original", "openai:big")
    # at three input tokens to one output token: 3 x 10 + 30 = 60 dollars, and 3 x 1 + 3 = 6
    assert said.out.splitlines()[1:] == ["openai:big → openai:small: rates imply 90.0 % saved"]
    document = json.loads(terminal.tjb("recommend", "--original", "openai:big", "--json").out)
    assert (document["tokenjam_version"], document["lookup"]) == ("9.1.0", "map")
    assert document["recommendations"] == [
        {"original": "openai:big", "candidate": "openai:small", "saving_pct": 90.0, "why": ""}
    ]


def test_the_whole_map(terminal: Terminal) -> None:
    other = ModelSpec("acme", "large")
    python = make_tokenjam(terminal.root.parent / "other", recommended={BIG: SMALL, other: ModelSpec("acme", "tiny")})
    terminal.environ["TJBENCH_TOKENJAM_PYTHON"] = str(python)
    document = json.loads(terminal.tjb("recommend", "--all", "--json").out)
    assert [(row["original"], row["saving_pct"]) for row in document["recommendations"]] == [
        ("openai:big", 90.0),
        ("acme:large", None),
    ]
    assert "has no price for acme:large and acme:tiny" in document["recommendations"][1]["why"]


def test_no_recommendation_is_said_and_no_error(terminal: Terminal) -> None:
    said = terminal.tjb("recommend", "--original", "openai:small")
    assert (said.code, said.out.splitlines()[1]) == (0, "tokenjam 9.1.0 recommends no cheaper model for openai:small")


@pytest.mark.parametrize("words", [(), ("--all", "--original", "openai:big")])
def test_either_one_model_or_all(terminal: Terminal, words: tuple[str, ...]) -> None:
    said = terminal.tjb("recommend", *words)
    assert said.code == 2
    assert "either --original or --all" in said.err


def test_a_placeholder_price_implies_no_saving() -> None:
    found = recommendation(BIG, snapshot(sources={SMALL: "default"}))
    assert (found["candidate"], found["saving_pct"]) == ("openai:small", None)
    assert found["why"] == "tokenjam 9.1.0 has no price for openai:small"


# --- suites


def test_the_built_in_suites_are_listed_with_their_sizes(terminal: Terminal) -> None:
    said = terminal.tjb("benchmarks")
    for suite in builtin_suites():
        (line,) = (line for line in said.out.splitlines() if line.split()[:1] == [suite.name])
        assert str(suite.n_tasks) in line.replace(",", "").split()
    listed = json.loads(terminal.tjb("benchmarks", "--json").out)
    assert {row["name"]: row["n_tasks"] for row in listed}["humaneval"] == 164


# --- versions and clashes


def test_both_versions(terminal: Terminal) -> None:
    assert terminal.tjb("version").out == f"tokenjam-bench {tjbench.__version__}\ntokenjam 9.1.0\n"
    document = json.loads(terminal.tjb("version", "--json").out)
    assert (document["bench_version"], document["tokenjam_version"]) == (tjbench.__version__, "9.1.0")


def test_a_missing_tokenjam_is_said_and_the_version_still_told(terminal: Terminal) -> None:
    terminal.environ["TJBENCH_TOKENJAM_PYTHON"] = "/nowhere/python"
    said = terminal.tjb("version")
    assert (said.code, said.out.splitlines()[1]) == (0, "tokenjam not installed")
    assert said.err.startswith("warning: cannot run /nowhere/python")
    assert json.loads(terminal.tjb("version", "--json").out)["tokenjam_version"] is None


def install(directory: Path, version: str) -> None:
    """The metadata of an installed tokenjam-bench."""
    info = directory / f"tokenjam_bench-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tokenjam-bench\nVersion: {version}\n")


def command(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "tjb").write_text("#!/bin/sh\n")
    (directory / "tjb").chmod(0o755)
    return directory / "tjb"


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our own command, as it was called."""
    made = command(tmp_path / "ours")
    monkeypatch.setattr(sys, "argv", [str(made)])
    return made


def test_an_older_package_of_our_name_beside_us_is_a_clash(
    tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_clashes({"PATH": str(ours.parent)}) == []
    install(tmp_path / "site", "0.1.0")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (clash,) = find_clashes({"PATH": str(ours.parent)})
    assert clash.startswith("tokenjam-bench 0.1.0 is installed")
    assert "pip uninstall tokenjam-bench" in clash


def test_another_command_that_comes_first_is_a_clash(tmp_path: Path, ours: Path) -> None:
    theirs = command(tmp_path / "pipx")
    (clash,) = find_clashes({"PATH": f"{theirs.parent}:{ours.parent}"})
    assert str(theirs) in clash
    assert str(ours) in clash
    assert find_clashes({"PATH": f"{ours.parent}:{theirs.parent}"}) == []


def test_a_link_to_us_is_no_clash(tmp_path: Path, ours: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tjb").symlink_to(ours)
    assert find_clashes({"PATH": str(tmp_path / "bin")}) == []
    assert find_clashes({"PATH": ""}) == []


def test_a_module_that_runs_under_another_name_looks_at_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/python"])
    assert find_clashes({"PATH": str(command(tmp_path / "pipx").parent)}) == []
