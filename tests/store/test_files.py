"""Pipes and devices are refused at once, and nothing is read further than allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tjbench.errors import UsageError
from tjbench.store.files import read_regular, write_whole


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


def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "page.html"
    write_whole(path, "first")
    path.chmod(0o640)
    with path.open() as reader:
        write_whole(path, "second \ud800")
        assert reader.read() == "first"
    assert path.read_text() == "second ?"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [found.name for found in path.parent.iterdir()] == ["page.html"]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("its own")
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "its own"
    assert (tmp_path / "link").read_text() == "new"


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "page")
        assert os.read(reading, 10) == b"page"
    finally:
        os.close(reading)
    assert pipe.is_fifo()


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "page.html"
    path.write_text("first")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "second")
    assert path.read_text() == "first"
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]
