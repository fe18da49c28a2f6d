"""Files that a user names, or a pull request brings: read without waiting and only so far; places tried beforehand."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tjbench.errors import UsageError


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Raises ``OSError``, and ``UsageError`` for a pipe, a
    device or a directory, which might never end, and for a larger file."""
    # Without O_NONBLOCK the opening of a pipe waits for a writer; a regular file does not know the difference.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"cannot read {path}", why="it is no regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise UsageError(f"cannot read {path}", why=f"larger than {most >> 20} MiB")
    return content


def unwritable(path: Path) -> str:
    """Why a file could not be written to ``path``; empty where it could."""
    if path.is_dir():
        return "it is a directory"
    above = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not above.is_dir():
        return f"{above} is no directory"
    target = path if path.exists() else above
    return "" if os.access(target, os.W_OK) else f"{target} is not writable"
