"""Any version of tokenjam in an environment of its own, by uv and by pip, from an index on loopback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.tokenjam import BIG, SMALL, make_checkout, make_tokenjam, sources
from tests.fakes.venv import Index, serve_index
from tjbench import installer
from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError, UsageError
from tjbench.tokenjam import TokenJam
from tjbench.upgrade import find_installer
from tjbench.versions import Versions

TINY = ModelSpec("openai", "tiny")
YANKED = "9.5.0"


@pytest.fixture
def index() -> Iterator[Index]:
    with serve_index() as running:
        for version in ("9.0.0", "9.4.0", "10.0.0rc1"):
            running.add_wheel(version, sources({BIG: TINY}))
        running.add_wheel(YANKED, sources({BIG: TINY}), yanked=True)
        yield running


@pytest.fixture(params=["uv", "pip"])
def versions(
    request: pytest.FixtureRequest, tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Versions]:
    """Tokenjam 9.1.0 is installed. By pip: no uv lies beside us or on the path."""
    base = make_tokenjam(tmp_path / "base")
    environ = {"TJBENCH_TOKENJAM_PYTHON": str(base), "PATH": str(tmp_path / "no uv here")}
    environ |= {"PIP_INDEX_URL": index.url, "UV_HTTP_RETRIES": "0", "PIP_RETRIES": "0"}
    if request.param == "pip":
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert (find_installer(base, environ).uv is None) == (request.param == "pip")
    with ExitStack() as scratch:
        yield Versions(environ=environ, cwd=tmp_path, cache=tmp_path / "cache", scratch=scratch)


def said(tokenjam: TokenJam) -> tuple[str, ModelSpec | None]:
    found = tokenjam.snapshot([BIG], trust_overrides=False)
    return found.version, found.candidates[BIG]


@pytest.mark.parametrize("version", [YANKED, "10.0.0rc1"])
def test_a_version_is_had_by_its_name_also_a_yanked_or_a_pre_release_and_kept(
    versions: Versions, index: Index, version: str
) -> None:
    assert said(versions.open(version)) == (version, TINY)
    index.status = 503
    assert said(versions.open(version)) == (version, TINY)


def test_latest_is_no_yanked_version_and_no_pre_release(versions: Versions) -> None:
    assert said(versions.open("latest")) == ("9.4.0", TINY)


@pytest.mark.parametrize("versions", ["pip"], indirect=True)
def test_where_our_environment_has_no_pip_either_one_is_made(
    versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "find_spec", lambda _name: None)
    monkeypatch.setattr(sys, "executable", "/no/python/with/pip")
    assert said(versions.open("latest")) == ("9.4.0", TINY)


def test_what_is_installed_asks_no_index(versions: Versions, index: Index) -> None:
    assert said(versions.open("installed")) == said(versions.open("9.1.0")) == ("9.1.0", SMALL)
    assert index.requests == []


def test_a_version_that_does_not_exist_names_its_neighbours(versions: Versions) -> None:
    with pytest.raises(UsageError, match=r"no tokenjam 9\.2\.0") as error:
        versions.open("9.2.0")
    assert "9.0.0" in error.value.fix
    assert "9.4.0" in error.value.fix
    assert YANKED not in error.value.fix


@pytest.mark.parametrize("wanted", ["9.4.0", "latest"])
def test_an_index_that_cannot_be_reached_is_incomplete(versions: Versions, index: Index, wanted: str) -> None:
    index.status = 503
    with pytest.raises(IncompleteError):
        versions.open(wanted)
    assert versions.cache is not None
    assert not [path for path in versions.cache.glob("*") if not path.name.startswith(".")]


def test_a_checkout_is_built_and_asked_and_never_kept(versions: Versions, tmp_path: Path) -> None:
    make_checkout(tmp_path / "work", version="11.0.dev1", recommended={BIG: TINY})
    assert said(versions.open("path:work")) == ("11.0.dev1", TINY)
    assert not list((tmp_path / "cache").glob("[0-9]*"))
