"""A series as a page: for each row its measurements in the order of tokenjam's versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag, RowKey
from tjbench.compare.decision import RowStatus
from tjbench.compare.series import Series, Step
from tjbench.report.changes_lines import changes_lines, tasks_lines
from tjbench.report.page import Code, Mark, Page, Phrase, Section, Table, listing, sentence
from tjbench.report.units import counted, interval_pp, pass_rate, signed_pp
from tjbench.report.words import MOCK_ALERT, ROW_STATUS, broken_order, cost_change, discordant, not_recorded

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
_EXPLAINED = frozenset({RowStatus.INCOMPLETE, RowStatus.INSUFFICIENT_EVIDENCE})


def series_page(series: Series) -> Page:
    """``series`` holds the steps of each row in order, as ``build_series`` makes it."""
    by_key: dict[RowKey, list[Step]] = defaultdict(list)
    for step in series.steps:
        by_key[step.row.key].append(step)
    shown = _most_urgent(by_key)
    measured = len(series.steps)
    return Page(
        mark=Mark.NONE,
        title=(f"TokenJam Bench: {counted(len(by_key), 'row')}, {counted(measured, 'measurement')}",),
        lead=() if by_key else (("No artifacts here.",),),
        alerts=(MOCK_ALERT,) if any(row.head and row.head.mock for row in series.rows) else (),
        tables=tuple(_table(key, by_key[key]) for key in shown),
        sections=tuple(section for key in shown for section in _sections(by_key[key])),
        facts=(*_left_out(len(by_key) - len(shown)), *_facts(series)),
    )


def _most_urgent(by_key: Mapping[RowKey, Sequence[Step]]) -> list[RowKey]:
    """The series to show: all, or where they are many those whose last step is the likeliest drop, in their order."""
    urgent = set(sorted(by_key, key=lambda key: _last_p(by_key[key]))[:LISTED])
    return [key for key in by_key if key in urgent]


def _last_p(steps: Sequence[Step]) -> float:
    change = steps[-1].row.change
    return 1.0 if change is None else change.p_one_sided


def _left_out(count: int) -> Iterator[Phrase]:
    if count:
        yield (f"{counted(count, 'row')} whose last step is less urgent not shown: --json holds all.",)


def _title(key: RowKey, end: str) -> Phrase:
    return (Code(key.suite), ", original ", Code(key.original), end)


def _table(key: RowKey, steps: Sequence[Step]) -> Table:
    return Table(
        title=_title(key, " (what TokenJam recommends)" if key.slot == RECOMMENDED else " (pinned)"),
        header=HEADER,
        rows=tuple(_cells(step, step.row.head) for step in steps if step.row.head),
        right=NUMBERS,
    )


def _cells(step: Step, head: Artifact) -> tuple[Phrase, ...]:
    scored = head.n_scored > 0
    beside = "stopped early" if head.stopped else interval_pp(head.stats.headline_ci_pp)
    delta = f"{signed_pp(head.accuracy_delta_pp)} ({beside})"
    mock = " (mock)" if Flag.MOCK in head.flags or head.mock else ""
    return (
        (Code(head.tokenjam_version), mock),
        (Code(head.candidate_model),),
        _versus(step),
        (head.verdict.value,),
        (pass_rate(head.original_pass, head.n_scored) if scored else "—",),
        (pass_rate(head.candidate_pass, head.n_scored) if scored else "—",),
        (delta if scored else "—",),
        (cost_change(head.measured_cost_delta_pct, head.claimed_saving_pct, guessed=head.costs_guessed),),
    )


def _versus(step: Step) -> Phrase:
    """In the words of a decision, so that the table and what is decided on the last step agree."""
    mark, word = ROW_STATUS[step.status]
    change = step.row.change
    if change is not None:
        return (mark, f" {word}: {discordant(change.b, change.c, change.p_one_sided)}")
    if step.row.baseline is None and step.status is RowStatus.NO_BASELINE:
        return ("first measurement",)
    return (mark, f" {word}: {step.row.why}" if step.row.why else f" {word}")


def _sections(steps: Sequence[Step]) -> Iterator[Section]:
    """What changed at each step and why, and what a measurement does not say."""
    for step in steps:
        head, before = step.row.head, step.row.baseline
        lines = tuple(_details(step))
        if head and lines:
            came = f"{before.tokenjam_version} → " if before else ""
            yield Section(title=_title(step.row.key, f": tokenjam {came}{head.tokenjam_version}"), lines=lines)


def _details(step: Step) -> Iterator[Phrase]:
    row = step.row
    if row.repointed:
        yield ("The recommendation changed: ", Code(row.repointed[0]), " → ", Code(row.repointed[1]), ".")
    if step.status in _EXPLAINED:
        yield (sentence(f"Against the step before: {ROW_STATUS[step.status][1]}: {step.reason}"),)
    if row.change and (broke := row.change.broke):
        yield (f"Broke since the step before ({len(broke)}): ", *listing(broke, surely=row.change.broke_surely))
        if order := broken_order(row.change.samples, len(broke), len(row.change.broke_surely)):
            yield (order,)
    if step.attribution:
        yield (sentence(f"Who moved since the step before: {step.attribution}"),)
    if row.baseline:
        if step.unscored:
            yield (f"{counted(step.unscored, 'paired task')} left the comparison: unscored on one side.",)
        compared = row.change.n + step.unscored if row.change else 0
        yield from tasks_lines(row.overlap, compared, "the step before")
    yield from changes_lines(step.changes)
    if step.lacking:
        yield (not_recorded(step.lacking),)


def _facts(series: Series) -> Iterator[Phrase]:
    if series.earlier:
        yield (f"{counted(series.earlier, 'earlier step')} not shown: --steps shows more.",)
    if series.superseded:
        count = counted(len(series.superseded), "artifact")
        yield (f"{count} left out: a newer measurement of the same row and version stands in.",)
