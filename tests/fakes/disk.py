"""A disk so small that it is soon full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of its own at ``place`` while this lasts; the test is skipped where nobody may mount."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("a small disk is mounted by root alone")
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, *, leave: int) -> None:
    """Fill ``disk`` but for ``leave`` bytes, in whole pages."""
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"x" * 4096)
        except OSError:
            ballast.truncate(max(0, os.fstat(ballast.fileno()).st_size - leave))
