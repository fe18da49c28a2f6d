"""Pipes and devices are refused at once, and nothing is read further than allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tjbench.errors import UsageError
from tjbench.store.files import read_regular


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(UsageError) as refused:
        read_regular(path, 4)
    assert refused.value.why.startswith("larger than")


def test_a_link_to_a_file_is_read_and_an_absent_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    (tmp_path / "link").symlink_to("x")
    assert read_regular(tmp_path / "link", 5) == b"1"
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "absent", 5)


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises((UsageError, IsADirectoryError)):
        read_regular(path, 5)
