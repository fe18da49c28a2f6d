"""Stored measurements as a page: newest first in one table, or one table a row in the order of tokenjam's versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tjbench.compare.artifact import RECOMMENDED, RowKey
from tjbench.compare.history import Entry
from tjbench.report.page import Code, Mark, Page, Phrase, Table
from tjbench.report.units import counted, dollars, pass_rate, signed_pp
from tjbench.report.words import MOCK_ALERT, cost_change

LIST: tuple[Phrase, ...] = tuple(
    (name,)
    for name in (
        "id",
        "measured",
        "tokenjam",
        "suite",
        "original",
        "candidate",
        "candidate pass",
        "Δ",
        "cost Δ",
        "verdict",
    )
)
TREND: tuple[Phrase, ...] = tuple(
    (name,)
    for name in (
        "tokenjam",
        "measured",
        "id",
        "candidate",
        "original pass",
        "candidate pass",
        "Δ",
        "cost",
        "cost Δ",
        "verdict",
    )
)


def list_page(entries: Sequence[Entry], n_stored: int) -> Page:
    """``entries`` in the order to show, of ``n_stored`` in the directory."""
    table = Table(header=LIST, rows=tuple(_listed(entry) for entry in entries), right=frozenset({6, 7, 8}))
    return _page(entries, n_stored, (table,))


def trend_page(rows: Mapping[RowKey, Sequence[Entry]], n_stored: int) -> Page:
    """Each row's measurements in the order of its trend, of ``n_stored`` in the directory."""
    tables = tuple(
        Table(title=_title(key), header=TREND, rows=tuple(map(_step, steps)), right=frozenset({4, 5, 6, 7, 8}))
        for key, steps in rows.items()
    )
    return _page([entry for steps in rows.values() for entry in steps], n_stored, tables)


def _page(entries: Sequence[Entry], n_stored: int, tables: tuple[Table, ...]) -> Page:
    of = f" of {n_stored:,}" if len(entries) < n_stored else ""
    return Page(
        mark=Mark.NONE,
        title=(f"TokenJam Bench: {len(entries):,}{of} stored {'measurement' if n_stored == 1 else 'measurements'}",),
        lead=() if entries else (("No artifacts here.",) if not n_stored else ("No measurement matches.",),),
        alerts=(MOCK_ALERT,) if any(entry.mock for entry in entries) else (),
        tables=tables if entries else (),
        facts=tuple(_facts(entries)),
    )


def _facts(entries: Sequence[Entry]) -> Iterator[Phrase]:
    if guessed := sum(entry.default_rates for entry in entries):
        yield (f"{counted(guessed, 'measurement')} at placeholder prices: TokenJam knew no price, the dollars guess.",)
    if incomplete := sum(entry.incomplete for entry in entries):
        yield (f"{counted(incomplete, 'measurement')} incomplete: too many tasks are unscored.",)
    if stopped := sum(entry.stopped for entry in entries):
        yield (f"{counted(stopped, 'measurement')} stopped early: the change is biased away from zero.",)


def _title(key: RowKey) -> Phrase:
    slot = " (what TokenJam recommends)" if key.slot == RECOMMENDED else " (pinned)"
    return (Code(key.suite), ", original ", Code(key.original), slot)


def _listed(entry: Entry) -> tuple[Phrase, ...]:
    return (
        (Code(entry.id),),
        (f"{entry.created_at:%Y-%m-%d %H:%M}",),
        _version(entry),
        (Code(entry.suite),),
        (Code(entry.original_model),),
        (Code(entry.candidate_model),),
        *_numbers(entry)[1:3],
        *_ending(entry),
    )


def _step(entry: Entry) -> tuple[Phrase, ...]:
    costs = [dollars(cost) for cost in (entry.original_cost_usd, entry.candidate_cost_usd) if cost is not None]
    return (
        _version(entry),
        (f"{entry.created_at:%Y-%m-%d}",),
        (Code(entry.id),),
        (Code(entry.candidate_model),),
        *_numbers(entry),
        (" → ".join(costs) or "—",),
        *_ending(entry),
    )


def _version(entry: Entry) -> Phrase:
    return (Code(entry.tokenjam_version), " (mock)" if entry.mock else "")


def _numbers(entry: Entry) -> tuple[Phrase, ...]:
    """Passes of both models and the change; of a replay without a control only how often the candidate agrees."""
    if not entry.n_scored:
        return (("—",),) * 3
    before, after = (pass_rate(count, entry.n_scored) for count in (entry.original_pass, entry.candidate_pass))
    if entry.delta_pp is None:
        return ("—",), (after,), ("—",)
    return (before,), (after,), (signed_pp(entry.delta_pp),)


def _ending(entry: Entry) -> tuple[Phrase, ...]:
    guessed = entry.default_rates and entry.cost_delta_pct is None
    return (
        (cost_change(entry.cost_delta_pct, entry.claimed_saving_pct, guessed=guessed),),
        (entry.verdict, *(f" ({mark})" for mark, holds in _marks(entry) if holds)),
    )


def _marks(entry: Entry) -> Iterator[tuple[str, bool]]:
    yield "incomplete", entry.incomplete
    yield "stopped early", entry.stopped and not entry.incomplete
    yield "no control", entry.uncontrolled
