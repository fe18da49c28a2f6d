"""A series as a page: for each row its measurements in the order of tokenjam's versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag, RowKey
from tjbench.compare.matrix import Matrix, Row
from tjbench.report.page import Code, Mark, Page, Phrase, Table
from tjbench.report.units import counted, interval_pp, pass_rate, signed_pp
from tjbench.report.words import MOCK_ALERT, STANDING, cost_change, discordant

HEADER: tuple[Phrase, ...] = tuple(
    (name,)
    for name in (
        "tokenjam",
        "candidate",
        "vs. the step before",
        "verdict",
        "original pass",
        "candidate pass",
        "Δ (95 % CI)",
        "cost Δ",
    )
)
NUMBERS = frozenset({4, 5, 6, 7})
LISTED = 20


def series_page(matrix: Matrix) -> Page:
    """``matrix`` holds the steps of each key in order, as ``build_series`` makes it."""
    steps: dict[RowKey, list[Row]] = defaultdict(list)
    for row in matrix.rows:
        steps[row.key].append(row)
    heads = [row.head for row in matrix.rows if row.head]
    shown = _most_urgent(steps)
    return Page(
        mark=Mark.NONE,
        title=(f"TokenJam Bench: {counted(len(steps), 'row')}, {counted(len(matrix.rows), 'measurement')}",),
        lead=() if steps else (("No artifacts here.",),),
        alerts=(MOCK_ALERT,) if any(head.mock for head in heads) else (),
        tables=tuple(_table(key, steps[key]) for key in shown),
        facts=(*_left_out(len(steps) - len(shown)), *_facts(matrix)),
    )


def _most_urgent(steps: Mapping[RowKey, Sequence[Row]]) -> list[RowKey]:
    """The series to show: all, or where they are many those whose last step is the likeliest drop, in their order."""
    urgent = set(sorted(steps, key=lambda key: _last_p(steps[key]))[:LISTED])
    return [key for key in steps if key in urgent]


def _last_p(rows: Sequence[Row]) -> float:
    change = rows[-1].change
    return 1.0 if change is None else change.p_one_sided


def _left_out(count: int) -> Iterator[Phrase]:
    if count:
        yield (f"{counted(count, 'row')} whose last step is less urgent not shown: --json holds all.",)


def _table(key: RowKey, rows: Sequence[Row]) -> Table:
    slot: Phrase = (" (what TokenJam recommends)",) if key.slot == RECOMMENDED else (" (pinned)",)
    return Table(
        title=(Code(key.suite), ", original ", Code(key.original), *slot),
        header=HEADER,
        rows=tuple(_cells(row, row.head) for row in rows if row.head),
        right=NUMBERS,
    )


def _cells(row: Row, head: Artifact) -> tuple[Phrase, ...]:
    scored = head.n_scored > 0
    delta = f"{signed_pp(head.accuracy_delta_pp)} ({interval_pp(head.stats.headline_ci_pp)})"
    mock = " (mock)" if Flag.MOCK in head.flags or head.mock else ""
    return (
        (Code(head.tokenjam_version), mock),
        (Code(head.candidate_model),),
        (_step(row),),
        (head.verdict.value,),
        (pass_rate(head.original_pass, head.n_scored) if scored else "—",),
        (pass_rate(head.candidate_pass, head.n_scored) if scored else "—",),
        (delta if scored else "—",),
        (cost_change(head.measured_cost_delta_pct, head.claimed_saving_pct, guessed=head.costs_guessed),),
    )


def _step(row: Row) -> str:
    if row.change is None:
        return f"{STANDING[row.standing]}: {row.why}" if row.why else STANDING[row.standing]
    return f"{row.change.verdict.value}: {discordant(row.change.b, row.change.c, row.change.p_one_sided)}"


def _facts(matrix: Matrix) -> Iterator[Phrase]:
    if matrix.earlier:
        yield (f"{counted(matrix.earlier, 'earlier step')} not shown: --steps shows more.",)
    if matrix.superseded:
        count = counted(len(matrix.superseded), "artifact")
        yield (f"{count} left out: a newer measurement of the same row and version stands in.",)
