"""Who foreign code (tokenjam and its build) runs as.

An empty environment does not hide our keys from a process of our own user: it can read them in ``/proc/PID/environ``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who foreign code runs as; ``None`` is whoever we are."""

    uid: int | None = None
    gid: int | None = None

    @property
    def extra_groups(self) -> list[int] | None:
        return None if self.uid is None else []

    def hand_over(self, directory: Path) -> None:
        """Give a scratch directory with all that is in it to the owner. Links are not followed."""
        if self.uid is None or self.gid is None:
            return
        os.chown(directory, self.uid, self.gid)
        for parent, directories, files in os.walk(directory):
            for name in directories + files:
                os.chown(Path(parent) / name, self.uid, self.gid, follow_symlinks=False)


def owner_of(python: Path) -> Owner:
    """The owner of the environment that ``python`` belongs to, when we are root and they are not."""
    if os.geteuid() != 0 or not python.parent.exists():
        return Owner()
    stat = python.parent.stat()
    return Owner() if stat.st_uid == 0 else Owner(uid=stat.st_uid, gid=stat.st_gid)
