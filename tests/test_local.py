"""`tjb ci` on a laptop: a repository on disk, models on loopback, and everything told on two streams."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gitdir import commit, git
from tests.fakes.provider import FakeProvider
from tests.fakes.shop import CONFIG, FILES, TASKS
from tests.fakes.sums import adding
from tests.fakes.tokenjam import BIG, make_tokenjam
from tjbench.config import parse_config
from tjbench.errors import ExitCode, UsageError
from tjbench.local import CiRequest, run_ci
from tjbench.settings import overridden
from tjbench.store.artifacts import load_path
from tjbench.workplace import RunOptions, Workplace

TWELVE = range(12)


@dataclass(kw_only=True)
class Told:
    code: ExitCode
    out: str
    err: str


@dataclass(kw_only=True)
class Desk:
    """A working directory; ``wrong`` are the sums that the small model gets wrong."""

    root: Path
    environ: dict[str, str]
    wrong: dict[str, Any] = field(default_factory=dict)

    def ci(
        self, baseline: str = "auto", *, config: str = CONFIG, flags: Mapping[str, object] = {}, **more: Any
    ) -> Told:
        out, err = io.StringIO(), io.StringIO()
        options = {"out": self.root / "results", **more.pop("options", {})}
        request = CiRequest(
            config=overridden(parse_config(config, "tjbench.toml"), flags, "--"),
            baseline=baseline,
            options=RunOptions(**options),
            **more,
        )
        place = Workplace(root=self.root, environ=self.environ)
        return Told(code=run_ci(request, place, stdout=out, stderr=err), out=out.getvalue(), err=err.getvalue())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "desk"
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    found = Desk(root=root, environ={})
    with FakeProvider(lambda ask: adding(found.wrong)(ask)) as provider:
        found.environ |= {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "OPENAI_BASE_URL": provider.openai_url,
            "TJBENCH_TOKENJAM_PYTHON": str(make_tokenjam(tmp_path / "tokenjam")),
        }
        yield found


def test_outside_a_repository_there_is_no_baseline(desk: Desk) -> None:
    told = desk.ci()
    assert told.code is ExitCode.PASSED
    assert told.err.startswith("baseline: none\n")
    assert "no baseline yet" in told.out
    assert "is no git repository" in told.out


def test_a_directory_as_baseline_and_a_candidate_that_got_worse(desk: Desk) -> None:
    desk.ci("none")
    (desk.root / "results").rename(desk.root / "before")
    assert desk.ci("path:before").code is ExitCode.PASSED
    desk.wrong["small"] = TWELVE
    told = desk.ci("path:before", options={"reuse_answers": False})
    assert told.code is ExitCode.REGRESSION
    assert "12 tasks broke" in told.out
    assert "baseline: path:before" in told.err


def test_the_last_release_branch_of_the_clone_is_the_baseline(desk: Desk) -> None:
    git(desk.root, "init", "-q", "-b", "main")
    commit(desk.root, {".gitignore": b"results/\n"})
    desk.ci()
    (path,) = (desk.root / "results").glob("tjbench_*.json")
    content = path.read_bytes()
    git(desk.root, "checkout", "-q", "-b", "release/1.0")
    git(desk.root, "add", "-f", "results")
    sha = commit(desk.root, {})
    git(desk.root, "checkout", "-q", "main")
    told = desk.ci()
    assert told.code is ExitCode.PASSED
    assert told.err.startswith(f"baseline: release/1.0 at {sha[:12]}\n")
    assert json.loads(content)["commit"] is not None
    only = CONFIG + '[baseline]\nbranches = ["stable"]\n'
    assert desk.ci(config=only).err.startswith("baseline: none\n")


def test_json_is_one_document_and_people_read_the_other_stream(desk: Desk) -> None:
    told = desk.ci("none", json=True)
    document = json.loads(told.out)
    assert {"status", "exit_code", "rows", "pooled", "reasons", "baseline"} <= set(document)
    assert (document["status"], document["exit_code"]) == ("no_baseline", 0)
    assert "TokenJam Bench" in told.err
    assert "artifact: " in told.err


def test_files_are_written_where_asked(desk: Desk) -> None:
    desk.ci("none", markdown=desk.root / "out/report.md", html=desk.root / "out/report.html")
    assert (desk.root / "out/report.md").read_text().startswith("### ")
    assert (desk.root / "out/report.html").read_text().startswith("<!doctype html>")
    with pytest.raises(UsageError, match="cannot write"):
        desk.ci("none", markdown=desk.root / "out")


def test_answers_are_kept_and_not_asked_for_again(desk: Desk) -> None:
    first = json.loads(desk.ci("none", json=True).out)
    second = json.loads(desk.ci("none", json=True).out)
    assert first["cost_usd"] > 0
    assert second["cost_usd"] == 0
    assert "reused" in second["rows"][0]["flags"]
    assert (Path(desk.environ["XDG_CACHE_HOME"]) / "tjbench/journal/answers.jsonl").exists()


def test_a_mock_run_says_so_first_and_keeps_no_answers(desk: Desk) -> None:
    told = desk.ci("none", flags={"mock": True})
    assert "MOCK RUN: scripted models answer" in told.err
    assert not Path(desk.environ["XDG_CACHE_HOME"]).exists()


def test_without_keys_a_gate_is_no_mock(desk: Desk) -> None:
    del desk.environ["OPENAI_BASE_URL"]
    with pytest.raises(UsageError, match="missing key: OPENAI_API_KEY"):
        desk.ci("none")


def test_an_outage_is_told_as_a_decision(desk: Desk) -> None:
    (Path(desk.environ["TJBENCH_TOKENJAM_PYTHON"])).unlink()
    Path(desk.environ["TJBENCH_TOKENJAM_PYTHON"]).write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    Path(desk.environ["TJBENCH_TOKENJAM_PYTHON"]).chmod(0o755)
    told = desk.ci("none", json=True)
    document = json.loads(told.out)
    assert (told.code, document["status"]) == (ExitCode.INCOMPLETE, "incomplete")
    assert "broken" in document["reasons"][0]
    assert desk.ci("none", flags={"fail_on": "regression"}).code is ExitCode.PASSED


@pytest.mark.parametrize(("machine", "source"), [({}, "override"), ({"CI": "true"}, "packaged")])
def test_price_files_apply_on_a_laptop_and_not_on_a_ci_machine(
    desk: Desk, machine: dict[str, str], source: str
) -> None:
    (desk.root / ".tj").mkdir()
    (desk.root / ".tj/config.toml").write_text("[pricing.openai.big]\ninput_per_mtok = 0.01\n")
    site = next((Path(desk.environ["TJBENCH_TOKENJAM_PYTHON"]).parents[1]).glob("lib/*/site-packages"))
    pricing = site / "tokenjam/core/pricing.py"
    pricing.write_text(
        pricing.read_text()
        + "import os\n"
        + "def _user_pricing_file(): return '.tj/config.toml' if os.path.exists('.tj/config.toml') else None\n"
        + "if _user_pricing_file(): PRICES[('openai', 'big')] = (0.01, 30.0)\n"
    )
    desk.environ |= machine
    told = desk.ci("none", flags={"mock": True})
    (artifact,) = load_path(desk.root / "results").artifacts.values()
    assert artifact.rates[str(BIG)].source == source
    assert ".tj/config.toml" in told.out
    assert artifact.n_tasks == TASKS
