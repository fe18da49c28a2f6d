from __future__ import annotations

import os
from pathlib import Path

import pytest

from tjbench.foreign import Owner, owner_of

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_code_of_our_own_environment_runs_as_us(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert owner_of(tmp_path / "bin" / "python") == Owner()


def test_an_interpreter_that_is_not_there_has_no_owner(tmp_path: Path) -> None:
    assert owner_of(tmp_path / "bin" / "python") == Owner()


@root_only
def test_code_of_another_users_environment_runs_as_that_user(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    os.chown(tmp_path / "bin", 47013, 47014)
    owner = owner_of(tmp_path / "bin" / "python")
    assert (owner.uid, owner.gid, owner.extra_groups) == (47013, 47014, [])


@root_only
def test_handing_over_a_directory_does_not_follow_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    given = tmp_path / "given"
    (given / "deep").mkdir(parents=True)
    (given / "deep" / "link").symlink_to(outside)
    Owner(uid=47013, gid=47013).hand_over(given)
    assert outside.stat().st_uid == 0
    assert {path.lstat().st_uid for path in [given, *given.rglob("*")]} == {47013}
