from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.venv import add_package, make_venv
from tjbench import container
from tjbench.container import action_input, home_for, plan, prepare
from tjbench.errors import UsageError
from tjbench.foreign import Owner
from tjbench.installer import Installer
from tjbench.upgrade import Upgrade

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("arguments", "environ", "command", "version", "strict"),
    [
        ("", {}, "action", "latest", False),
        ("", {"INPUT_TOKENJAM-VERSION": "0.6.4"}, "action", "0.6.4", False),
        ("", {"INPUT_TOKENJAM_VERSION": "0.6.4"}, "action", "0.6.4", False),
        ("", {"INPUT_TOKENJAM-VERSION": " "}, "action", "latest", False),
        ("", {"INPUT_MODE": "upgrade-check"}, "action", "latest", True),
        ("", {"INPUT_MODE": "post-comment"}, "action", "installed", False),
        ("", {"INPUT_MODE": "post-comment", "INPUT_TOKENJAM-VERSION": "path:tj"}, "action", "installed", False),
        ("version", {}, "version", "installed", False),
        ("run --limit 5", {"INPUT_TOKENJAM_VERSION": "latest"}, "run --limit 5", "latest", False),
        ("ci --tokenjam-version 0.6.4 --json", {"INPUT_TOKENJAM_VERSION": "0.7.0"}, "ci --json", "0.6.4", False),
        ("--tokenjam-version=path:tj", {}, "action", "path:tj", False),
        ("upgrade-check --to latest", {}, "upgrade-check --to latest", "installed", True),
    ],
)
def test_arguments_are_those_of_tjb_and_none_is_the_action(
    arguments: str, environ: Mapping[str, str], command: str, version: str, strict: bool
) -> None:
    launch = plan(arguments.split(), environ)
    assert (" ".join(launch.arguments), launch.tokenjam_version, launch.strict) == (command, version, strict)


def test_a_version_flag_without_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match="--tokenjam-version"):
        plan(["run", "--tokenjam-version"], {})


def test_an_input_is_read_in_githubs_spelling_first() -> None:
    assert action_input({"INPUT_MAX-COST-USD": "1", "INPUT_MAX_COST_USD": "2"}, "max-cost-usd") == "1"
    assert action_input({"INPUT_MAX_COST_USD": "2"}, "max-cost-usd") == "2"
    assert action_input({}, "max-cost-usd") == ""


def test_a_job_gets_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / "github" / "home"
    shared.mkdir(parents=True)
    assert home_for({"HOME": str(shared)}) == str(shared)
    for environ in ({"HOME": str(shared), "GITHUB_ACTIONS": "true"}, {"HOME": "/nonexistent"}, {}):
        home = Path(home_for(environ))
        assert home.parent == tmp_path
        assert stat.S_IMODE(home.stat().st_mode) == 0o700


def installer(environ: Mapping[str, str]) -> Installer:
    return Installer(uv=Path("uv"), environ=environ, owner=Owner())


class Scripted(Upgrade):
    """An upgrade that only warns."""

    def bring(self, wanted: object, *, strict: bool) -> str | None:
        return "the index is down"


def test_a_stand_in_is_reported_to_the_action_and_nothing_else_changes(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "OPENAI_API_KEY": "k", "TJBENCH_UPGRADE_WARNING": "stale"}
    upgrade = Scripted(installer=installer(environ), python=Path("python"))
    assert prepare(plan([], environ), upgrade, environ) == {**environ, "TJBENCH_UPGRADE_WARNING": "the index is down"}


def test_a_warning_of_an_earlier_run_is_not_repeated(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "TJBENCH_UPGRADE_WARNING": "stale"}
    upgrade = Upgrade(installer=installer(environ), python=tmp_path / "python")
    assert prepare(plan(["version"], environ), upgrade, environ) == {"HOME": str(tmp_path)}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The two environments of the image in small: ours with a scripted `tjb`, and tokenjam's."""
    ours = make_venv(tmp_path / "tjbench")
    (ours.parent / "tjb").write_text("import os, sys\nprint(sys.argv[1:], sys.flags.isolated, os.environ['HOME'])\n")
    site = next(ours.parent.parent.glob("lib/python*/site-packages"))
    packages = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (site / "source.pth").write_text(f"{ROOT}\n{packages}\n")
    (ours.parent / "uv").symlink_to(Path(sys.prefix) / "bin" / "uv")
    add_package(make_venv(tmp_path / "tokenjam"), {"tokenjam/__init__.py": ""}, version="1.0")
    script = (ROOT / "entrypoint").read_text().replace("/opt/", f"{tmp_path}/")
    (tmp_path / "entrypoint").write_text(script)
    (tmp_path / "entrypoint").chmod(0o755)
    return tmp_path


def start(image: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    workspace = image / "workspace"
    workspace.mkdir()
    (workspace / "os.py").write_text("raise SystemExit('workspace code ran')")
    own = {
        "HOME": str(image),
        "TJBENCH_TOKENJAM_PYTHON": str(image / "tokenjam/bin/python"),
        "PYTHONPATH": str(workspace),
    }
    down = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0", "TMPDIR": str(image)}
    return subprocess.run(
        [image / "entrypoint", *arguments],
        env={**own, **down, **environ},
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_entrypoint_becomes_tjb_isolated_from_the_workspace(image: Path) -> None:
    done = start(image, "run", "--limit", "5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"['run', '--limit', '5'] 1 {image}\n"


def test_the_action_goes_on_with_a_warning_when_the_index_is_down(image: Path) -> None:
    done = start(image, GITHUB_ACTIONS="true")
    assert done.returncode == 0
    assert done.stderr.startswith("::warning title=TokenJam Bench::the newest tokenjam could not be installed, so 1.0")
    assert "['action'] 1 " in done.stdout
    assert f"{image}/tjbench-home-" in done.stdout


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"INPUT_TOKENJAM-VERSION": "newest"}, 2),
        ({"INPUT_TOKENJAM-VERSION": "path:/etc"}, 2),
    ],
)
def test_the_entrypoint_ends_with_the_exit_code_of_the_trouble(image: Path, environ: dict[str, str], code: int) -> None:
    done = start(image, **environ)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_command_that_cannot_have_its_version_ends_as_incomplete(image: Path) -> None:
    done = start(image, "--tokenjam-version", "1.1", "run")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    "environ",
    [{"INPUT_TOKENJAM-VERSION": "1.1"}, {"INPUT_TOKENJAM-VERSION": "latest", "INPUT_MODE": "upgrade-check"}],
)
def test_what_an_action_cannot_install_is_left_to_the_action_to_report(environ: dict[str, str], image: Path) -> None:
    (image / "tjbench/bin/tjb").write_text("import os\nprint(os.environ['TJBENCH_UPGRADE_FAILURE'])\n")
    done = start(image, **environ)
    assert done.returncode == 0
    assert "could not be installed" in done.stdout


def test_a_bug_is_not_a_regression(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(container, "plan", broken)
    assert container.main() == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_image_starts_the_entrypoint_as_github_wants_it() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    instructions = [line.split()[0] for line in lines if line[:1].isupper()]
    assert lines[0] == "FROM python:3.13-slim-trixie"
    assert 'ENTRYPOINT ["/entrypoint"]' in lines
    assert not {"USER", "WORKDIR"} & set(instructions)
    assert "--mount" not in "".join(lines)
    assert os.access(ROOT / "entrypoint", os.X_OK)
