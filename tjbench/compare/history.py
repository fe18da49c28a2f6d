"""Measurements as one line each: found by id, filtered, and put in the order of a trend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from tjbench.compare.artifact import Artifact, Flag, RowKey
from tjbench.compare.matrix import version_order
from tjbench.errors import UsageError

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One artifact in one line: costs in USD, ``None`` where it tells none; ``delta_pp`` in points, shares in percent.
    One that ``stopped`` early has no p-value, which is for a fixed number of tasks, and an ``uncontrolled`` replay
    neither that nor a change: its original is the reference and no sample.

    ``id`` is the first 12 hexadecimal digits of the file's SHA-256.
    """

    id: str
    file: str
    created_at: datetime
    tokenjam_version: str
    bench_version: str
    suite: str
    original_model: str
    candidate_model: str
    slot: str
    n_tasks: int
    n_scored: int
    original_pass: float
    candidate_pass: float
    delta_pp: float | None
    p_value: float | None
    original_cost_usd: float | None
    candidate_cost_usd: float | None
    cost_delta_pct: float | None
    claimed_saving_pct: float | None
    verdict: str
    incomplete: bool
    mock: bool
    default_rates: bool
    stopped: bool
    uncontrolled: bool

    @property
    def key(self) -> RowKey:
        return RowKey(self.suite, self.original_model, self.slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which measurements are wanted; ``None`` wants all. A model is named in full or without its provider; ``limit``
    keeps the newest."""

    suite: str | None = None
    model: str | None = None
    version: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None


def entry_of(artifact: Artifact, digest: str, file: str) -> Entry:
    """The line of an artifact whose file has the SHA-256 ``digest``."""
    known = artifact.costs_known
    return Entry(
        id=digest[:12],
        file=file,
        created_at=artifact.created_at,
        tokenjam_version=artifact.tokenjam_version,
        bench_version=artifact.bench_version,
        suite=artifact.suite.name,
        original_model=str(artifact.original_model),
        candidate_model=str(artifact.candidate_model),
        slot=artifact.slot,
        n_tasks=artifact.n_tasks,
        n_scored=artifact.n_scored,
        original_pass=artifact.original_pass,
        candidate_pass=artifact.candidate_pass,
        delta_pp=None if artifact.uncontrolled else artifact.accuracy_delta_pp,
        p_value=None if artifact.stopped or artifact.uncontrolled else artifact.stats.mcnemar_p_value,
        original_cost_usd=artifact.original_cost_usd if known else None,
        candidate_cost_usd=artifact.candidate_cost_usd if known else None,
        cost_delta_pct=artifact.measured_cost_delta_pct if known else None,
        claimed_saving_pct=artifact.claimed_saving_pct,
        verdict=artifact.verdict.value,
        incomplete=artifact.incomplete,
        mock=artifact.mock or Flag.MOCK in artifact.flags,
        default_rates=artifact.priced_with_defaults or Flag.DEFAULT_RATES in artifact.flags,
        stopped=artifact.stopped,
        uncontrolled=artifact.uncontrolled,
    )


def newest_first(entries: Sequence[Entry], wanted: Filter) -> list[Entry]:
    """The measurements that ``wanted`` names, by the time they were made."""
    found = [entry for entry in entries if _matches(entry, wanted)]
    found.sort(key=lambda entry: (entry.created_at, entry.file), reverse=True)
    return found[: wanted.limit]


def trends(entries: Sequence[Entry]) -> dict[RowKey, list[Entry]]:
    """Each row's measurements by tokenjam version (PEP 440), and of one version by time."""
    rows: dict[RowKey, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda e: (version_order(e.tokenjam_version), e.created_at, e.file)):
        rows[entry.key].append(entry)
    return {key: rows[key] for key in sorted(rows)}


def find(entries: Sequence[Entry], name: str) -> Entry:
    """The one measurement that an id, a file name, or the beginning of either names. Raises ``UsageError``."""
    found = [e for e in entries if name in (e.id, e.file)] or [e for e in entries if e.id.startswith(name.lower())]
    found = found or [e for e in entries if e.file.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{e.id} ({e.file})" for e in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UsageError(f"{name!r} names several measurements", why=listed + more, fix="give more of one of them")
    near = get_close_matches(name, [text for e in entries for text in (e.id, e.file)], n=3)
    raise UsageError(
        f"no measurement is called {name!r}",
        why=f"near: {', '.join(near)}" if near else "",
        fix="tjb history lists them with their ids",
    )


def instant(text: str, *, end: bool) -> datetime:
    """A date or a time of ISO 8601, UTC unless it says otherwise; a date is its first moment, or its last for an
    ``end``. Raises ``UsageError``."""
    try:
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no date", why=str(error), fix="write 2026-11-29 or 2026-11-29T14:59") from error
    is_date = "T" not in text and " " not in text
    return datetime.combine(at.date(), datetime.max.time(), UTC) if end and is_date else at


def _matches(entry: Entry, wanted: Filter) -> bool:
    models = (entry.original_model, entry.candidate_model)
    return (
        wanted.suite in (None, entry.suite)
        and (wanted.model is None or any(wanted.model in (m, m.partition(":")[2]) for m in models))
        and (wanted.version is None or version_order(wanted.version) == version_order(entry.tokenjam_version))
        and (wanted.since is None or entry.created_at >= wanted.since)
        and (wanted.until is None or entry.created_at <= wanted.until)
    )
