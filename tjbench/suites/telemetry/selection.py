"""Which calls of a history are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Calls from ``since`` on, of one ``agent``; of ``originals`` (``provider:model``) alone where they are given, and
    the first ``limit`` of them in time."""

    since: datetime | None = None
    agent: str | None = None
    originals: frozenset[str] | None = None
    limit: int | None = None
