"""What the harness and the warm process say to each other."""

from __future__ import annotations

import struct

ORDER = struct.Struct("<Qd")
"""Run a program: its number and wall seconds. The sockets of its answer and its tests come along."""

REPORT = struct.Struct("<QBiidd")
"""A program has ended: its number, what was killed, the wait statuses of answer and tests (-1: not reaped), wall and
CPU seconds."""

TIMED_OUT, SOLVER_KILLED, CHECKER_KILLED = 1, 2, 4
