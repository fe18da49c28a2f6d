"""Files that a user names, or a pull request brings: read without waiting and only so far, written whole or not at all;
places tried beforehand."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from tjbench.errors import IncompleteError, TjbError, UsageError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


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


def unwritten(path: Path, error: OSError, fix: str = "") -> TjbError:
    """What to say of a file that could not be written. A full disk is nobody's mistake: the run is incomplete, and
    asked again it pays for no kept answer."""
    what, why = f"cannot write to {path}", error.strerror or str(error)
    if error.errno in _FULL:
        return IncompleteError(what, why=why, fix="make room and run again: the answers kept in the journal are reused")
    return UsageError(what, why=why, fix=fix)


def write_whole(path: Path, text: str) -> None:
    """Put ``text`` in the place of what ``path`` held, in one step; where that fails it is as it was. A link is
    replaced and not followed; what is no regular file, such as a device, is written to. Raises ``OSError``."""
    data = text.encode("utf-8", "replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not (path.is_file() and os.access(path.parent, os.W_OK)):
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            if path.is_file():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        _replace(temporary, path, data)
    finally:
        temporary.unlink(missing_ok=True)


def _replace(temporary: Path, path: Path, data: bytes) -> None:
    try:
        temporary.replace(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        path.write_bytes(data)  # a file that is a mount of its own, as in a container, cannot be replaced
