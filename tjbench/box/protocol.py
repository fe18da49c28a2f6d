"""What the harness and the warm process say to each other."""

from __future__ import annotations

import struct

ORDER = struct.Struct("<Qd?")
"""Run a program: its number, wall seconds, whether answer and tests share an interpreter. The sockets of both come
along."""

REPORT = struct.Struct("<QBiidd")
"""A program has ended: its number, what was killed, the wait statuses of answer and tests (-1: not reaped), wall and
CPU seconds."""

TIMED_OUT, SOLVER_KILLED, CHECKER_KILLED = 1, 2, 4
