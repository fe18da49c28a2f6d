"""What the program says when it cannot go on, and the exit code it says it with."""

from __future__ import annotations

from enum import IntEnum

DOCUMENTATION = "https://github.com/tokenjam/bench-action/blob/main/docs"
"""Where the documentation is read: what is installed brings none."""


class ExitCode(IntEnum):
    """Exit codes of every command."""

    PASSED = 0
    REGRESSION = 1
    USAGE = 2
    INCOMPLETE = 3
    INTERRUPTED = 130
    TERMINATED = 143


class TjbError(Exception):
    """Something the user can mend: what happened, why, what to do. Anything else is a bug and keeps its traceback."""

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.what]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class UsageError(TjbError):
    """A wrong flag, configuration, key or file named by the user (exit 2)."""


class IncompleteError(TjbError):
    """Nothing could be concluded: outage, quota, budget, an unreadable baseline (exit 3)."""

    exit_code = ExitCode.INCOMPLETE
