from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from packaging.version import Version

from tests.fakes.venv import Index, add_package, make_venv, serve_index
from tjbench.errors import IncompleteError, UsageError
from tjbench.foreign import owner_of
from tjbench.installer import Installer, uv_environ
from tjbench.upgrade import Upgrade, Wanted, installed_version

UV = Path(sys.prefix) / "bin" / "uv"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An environment with tokenjam 1.0."""
    made = make_venv(tmp_path / "env")
    add_package(made, {"tokenjam/__init__.py": ""}, version="1.0")
    return made


@pytest.fixture
def index() -> Iterator[Index]:
    with serve_index() as running:
        for version in ("1.0", "1.1", "2.0rc1"):
            running.add_wheel(version)
        yield running


def upgrade(python: Path, index: Index) -> Upgrade:
    return upgrade_of(python, {"PIP_INDEX_URL": index.url, "UV_HTTP_RETRIES": "0"})


def upgrade_of(python: Path, environ: Mapping[str, str]) -> Upgrade:
    return Upgrade(installer=Installer(uv=UV, environ=environ, owner=owner_of(python)), python=python)


def test_latest_is_the_newest_final_release(python: Path, index: Index) -> None:
    assert upgrade(python, index).bring(Wanted(latest=True), strict=True) is None
    assert installed_version(python) == Version("1.1")


@pytest.mark.parametrize("version", ["1.1", "2.0rc1"])
def test_a_pinned_version_is_installed_pre_releases_by_exact_name(python: Path, index: Index, version: str) -> None:
    assert upgrade(python, index).bring(Wanted(version=Version(version)), strict=False) is None
    assert installed_version(python) == Version(version)


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(version=Version("1.0"))], ids=["installed", "pinned as it is"])
def test_nothing_is_asked_of_the_index_when_it_is_there_already(python: Path, index: Index, wanted: Wanted) -> None:
    index.status = 503
    assert upgrade(python, index).bring(wanted, strict=True) is None
    assert installed_version(python) == Version("1.0")
    assert index.requests == []


def test_a_version_that_does_not_exist_is_the_users_mistake(python: Path, index: Index) -> None:
    with pytest.raises(UsageError, match=r"the package index has no tokenjam 7\.7"):
        upgrade(python, index).bring(Wanted(version=Version("7.7")), strict=False)


def test_a_pinned_version_is_never_replaced_by_another_when_the_index_is_down(python: Path, index: Index) -> None:
    index.status = 503
    with pytest.raises(IncompleteError, match=r"tokenjam 1\.1 could not be installed[\s\S]*503"):
        upgrade(python, index).bring(Wanted(version=Version("1.1")), strict=False)
    assert installed_version(python) == Version("1.0")


def test_latest_falls_back_to_what_is_there_and_says_so(python: Path, index: Index) -> None:
    index.status = 503
    warning = upgrade(python, index).bring(Wanted(latest=True), strict=False)
    assert warning is not None
    assert "1.0 from the image was used" in warning
    assert "503" in warning


def test_latest_is_not_called_latest_when_the_index_has_no_tokenjam(python: Path, index: Index) -> None:
    index.files.clear()
    warning = upgrade(python, index).bring(Wanted(latest=True), strict=False)
    assert warning is not None
    assert "was not found in the package registry" in warning


def test_a_run_about_the_newest_does_without_a_stand_in(python: Path, index: Index) -> None:
    index.status = 503
    with pytest.raises(IncompleteError, match="the newest tokenjam could not be installed"):
        upgrade(python, index).bring(Wanted(latest=True), strict=True)


def test_a_source_distribution_is_not_built(python: Path, index: Index, tmp_path: Path) -> None:
    trace = tmp_path / "built"
    source = f"open({str(trace)!r}, 'w')".encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in (
            ("setup.py", source),
            ("PKG-INFO", b"Metadata-Version: 2.1\nName: tokenjam\nVersion: 3.0\n"),
        ):
            member = tarfile.TarInfo(f"tokenjam-3.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    index.files["tokenjam-3.0.tar.gz"] = buffer.getvalue()
    with pytest.raises(IncompleteError):
        upgrade(python, index).bring(Wanted(version=Version("3.0")), strict=False)
    assert not trace.exists()


def test_configuration_in_the_workspace_and_in_the_home_has_no_effect(
    python: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = 'index-url = "http://127.0.0.1:9/simple"\noffline = true\n'
    workspace = tmp_path / "workspace"
    settings = {
        "uv.toml": hostile,
        "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/simple\n",
        "pyproject.toml": "[tool.uv]\n" + hostile,
        ".config/uv/uv.toml": hostile,
        "sitecustomize.py": "raise SystemExit('workspace code ran')",
    }
    for name, text in settings.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(workspace / ".config"))
    monkeypatch.setenv("UV_CONFIG_FILE", str(workspace / "uv.toml"))
    monkeypatch.setenv("PYTHONPATH", str(workspace))
    environ = {**os.environ, "UV_DEFAULT_INDEX": index.url, "UV_HTTP_RETRIES": "0"}
    assert upgrade_of(python, environ).bring(Wanted(latest=True), strict=True) is None
    assert installed_version(python) == Version("1.1")


def test_a_login_in_the_address_of_the_index_is_not_shown(python: Path, index: Index) -> None:
    index.status = 503
    environ = {"UV_INDEX_URL": index.url.replace("http://", "http://me:hunter2@"), "UV_HTTP_RETRIES": "0"}
    warning = upgrade_of(python, environ).bring(Wanted(latest=True), strict=False)
    assert warning is not None
    assert "hunter2" not in warning


BACKEND = """
import os, pathlib, zipfile
pathlib.Path("left-behind.txt").write_text("by the build")
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "tokenjam-5.0.dev1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w") as archive:
        info = "tokenjam-5.0.dev1.dist-info/"
        archive.writestr("tokenjam/seen.txt", "\\n".join(os.environ))
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tokenjam\\nVersion: 5.0.dev1\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "")
    return name
"""


def test_a_checkout_is_built_without_keys_and_leaves_nothing_in_the_workspace(
    python: Path, index: Index, tmp_path: Path
) -> None:
    checkout = tmp_path / "workspace" / "tokenjam"
    checkout.mkdir(parents=True)
    (checkout / "backend.py").write_text(BACKEND)
    (checkout / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[tool.uv]\nno-index = true\n'
    )
    wanted = Wanted.parse("path:tokenjam", workspace=tmp_path / "workspace")
    environ = {
        "UV_DEFAULT_INDEX": index.url,
        "ANTHROPIC_API_KEY": "sk-1",
        "GITHUB_TOKEN": "t",
        "INPUT_GITHUB-TOKEN": "t",
    }
    assert upgrade_of(python, environ).bring(wanted, strict=True) is None
    assert installed_version(python) == Version("5.0.dev1")
    assert {path.name for path in checkout.iterdir()} == {"backend.py", "pyproject.toml"}
    seen = next(python.parent.parent.glob("lib/*/site-packages/tokenjam/seen.txt")).read_text().splitlines()
    assert not [name for name in seen if "KEY" in name or "GITHUB" in name or "INPUT" in name]


def test_a_checkout_that_does_not_build_is_incomplete(python: Path, index: Index, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "nowhere"\n')
    with pytest.raises(IncompleteError, match="could not be built"):
        upgrade(python, index).bring(Wanted(checkout=tmp_path), strict=False)


@pytest.mark.parametrize("text", ["", "newest", "path:", "path:..", "path:/etc", "path:missing", "path:link", "0.7.x"])
def test_a_value_that_cannot_be_meant_is_refused(text: str, tmp_path: Path) -> None:
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    for directory in (outside, workspace):
        directory.mkdir()
    (outside / "pyproject.toml").touch()
    (workspace / "link").symlink_to(outside)
    with pytest.raises(UsageError, match="tokenjam-version"):
        Wanted.parse(text, workspace=workspace)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"PIP_INDEX_URL": "a"}, {"UV_DEFAULT_INDEX": "a"}),
        ({"UV_INDEX_URL": "b", "PIP_INDEX_URL": "a"}, {"UV_DEFAULT_INDEX": "b"}),
        ({"UV_DEFAULT_INDEX": "c", "UV_INDEX_URL": "b"}, {"UV_DEFAULT_INDEX": "c"}),
        ({"REQUESTS_CA_BUNDLE": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"https_proxy": "p", "NO_PROXY": "n"}, {"https_proxy": "p", "NO_PROXY": "n"}),
        ({"UV_INDEX_CORP_USERNAME": "u", "UV_INDEX_CORP_PASSWORD": "p"},) * 2,
        (
            {
                "OPENAI_API_KEY": "k",
                "GITHUB_TOKEN": "t",
                "UV_CONFIG_FILE": "f",
                "PYTHONPATH": "w",
                "UV_PUBLISH_TOKEN": "t",
            },
            {},
        ),
    ],
)
def test_uv_is_told_the_way_to_the_index_and_nothing_else(theirs: dict[str, str], ours: dict[str, str]) -> None:
    fixed = {"HOME", "TMPDIR", "PATH"}
    told = uv_environ(theirs, home="/scratch")
    assert {name: value for name, value in told.items() if name not in fixed} == ours
    assert told["HOME"] == "/scratch"
