"""A decision as a page: the status and why, one table of rows, and what a reader needs to act on each."""

from __future__ import annotations

from collections.abc import Iterator

from tjbench.compare.artifact import Flag
from tjbench.compare.decision import Decision, DecisionRow, Pooled, RowStatus, Status
from tjbench.compare.stats import Verdict
from tjbench.report.changes_lines import ASIDE, changes_lines, tasks_lines
from tjbench.report.page import (
    Code,
    Link,
    Newline,
    Page,
    Part,
    Phrase,
    Section,
    Table,
    joined,
    listing,
    reason_lines,
    sentence,
    told,
)
from tjbench.report.units import counted, dollars, interval_pp, number, pass_rate, percent, signed_pp
from tjbench.report.words import (
    FLAG,
    MOCK_ALERT,
    ROW_STATUS,
    STATUS,
    broken_order,
    causes_phrase,
    cost_change,
    cost_sentence,
    discordant,
    models,
    not_recorded,
    stopped_early,
    verdict_word,
)

HEADER: tuple[Phrase, ...] = tuple(
    (name,)
    for name in (
        "suite",
        "original → candidate",
        "vs. baseline",
        "verdict",
        "original pass",
        "candidate pass",
        "Δ (95 % CI)",
        "cost Δ",
    )
)
NUMBERS = frozenset({4, 5, 6, 7})
LEGEND: Phrase = (
    "Vs. baseline: this candidate against the baseline's, task by task; p is one-sided. Verdict: candidate against "
    "original. Pass: tasks passed of tasks scored. Δ: candidate minus original, in percentage points. Cost Δ: "
    "measured, beside what TokenJam's rates claim.",
)
LEGEND_MOCK: Phrase = tuple(str(part).replace("Cost Δ: measured", "Cost Δ: scripted") for part in LEGEND)
FORK: Phrase = (
    "Nothing was measured, and that fails nothing: GitHub hands no secrets to a pull request from a fork. "
    "A maintainer runs the gate by pushing the commits to a branch of this repository.",
)
SEED: tuple[Phrase, ...] = (
    ("To give the next run something to compare with, record one on the release branch:",),
    ("check out the branch, for example ", Code("release/1.0"), ", where the keys are set;"),
    (
        "run ",
        Code("tjb ci --baseline none"),
        ", or this action with ",
        Code("mode: record"),
        ", with the same configuration and inputs as here;",
    ),
    ("commit the artifacts that it names to that branch.",),
)
BASELINE_SHA = 12


def decision_page(decision: Decision, run_url: str | None = None) -> Page:
    """``run_url`` is where the whole report is."""
    mark, word = STATUS[decision.status]
    mock_run = " (MOCK RUN)" if _is_mock(decision) else ""
    ordered = sorted(decision.rows, key=_urgency)
    return Page(
        mark=mark,
        title=(f"TokenJam Bench: {word}{mock_run}",),
        lead=tuple(_lead(decision)),
        alerts=tuple(_alerts(decision)),
        tables=(Table(header=HEADER, rows=tuple(_cells(row) for row in ordered), right=NUMBERS),) if ordered else (),
        legend=(LEGEND_MOCK if _is_mock(decision) else LEGEND) if ordered else (),
        steps=_steps(decision),
        sections=tuple(Section(title=_title(row), lines=tuple(_details(row))) for row in ordered),
        facts=tuple(_facts(decision, run_url)),
    )


def _lead(decision: Decision) -> Iterator[Phrase]:
    yield from (reason_lines(reason) for reason in decision.reasons)
    if decision.status is Status.SKIPPED:
        yield FORK
    if decision.upgrade:
        first, *more = decision.upgrade
        yield (sentence(first), *(part for line in more for part in (Newline(), sentence(line))))


def _steps(decision: Decision) -> tuple[Phrase, ...]:
    if decision.recorded:
        first = "To make this the baseline, commit to your release branch, for example release/1.0:"
        return ((first,), *((Code(path),) for path in decision.recorded))
    return SEED if decision.status is Status.NO_BASELINE else ()


def _urgency(row: DecisionRow) -> tuple[int, bool]:
    order = list(ROW_STATUS)
    return order.index(row.vs_baseline.status), row.verdict is not Verdict.SIGNIFICANT_REGRESSION


def _is_mock(decision: Decision) -> bool:
    return decision.mock or any(Flag.MOCK in row.flags for row in decision.rows)


def _alerts(decision: Decision) -> Iterator[Phrase]:
    if _is_mock(decision):
        yield MOCK_ALERT
    guessed = sum(Flag.DEFAULT_RATES in row.flags for row in decision.rows)
    if guessed:
        yield (f"Placeholder prices in {counted(guessed, 'row')}: the dollars there are a guess.",)
    suspect = sum(Flag.SUSPECT_SCORER in row.flags for row in decision.rows)
    if suspect:
        yield (f"Suspect scorer in {counted(suspect, 'row')}: one cause explains most failures. Look there first.",)


def _title(row: DecisionRow) -> Phrase:
    return (Code(row.suite), ": ", *models(row.original_model, row.candidate_model))


def _cells(row: DecisionRow) -> tuple[Phrase, ...]:
    measured = row.n_scored > 0 and row.original_pass is not None and row.candidate_pass is not None
    delta = "—"
    if measured and row.accuracy_delta_pp is not None:
        stopped = row.early_stop is not None and row.early_stop.stopped
        beside = interval_pp(row.headline_ci_pp) if row.headline_ci_pp else "stopped early" if stopped else ""
        delta = signed_pp(row.accuracy_delta_pp) + (f" ({beside})" if beside else "")
    return (
        (Code(row.suite),),
        models(row.original_model, row.candidate_model),
        _versus(row),
        (verdict_word(row.verdict),),
        (_passed(row.original_pass, row, row.reused.original if row.reused else 0) if measured else "—",),
        (_passed(row.candidate_pass, row, row.reused.candidate if row.reused else 0) if measured else "—",),
        (delta,),
        (cost_change(row.cost_delta_pct, row.claimed_saving_pct, guessed=_is_guess(row)),),
    )


def _passed(passed: float | None, row: DecisionRow, n_reused: int) -> str:
    """The pass rate, and how many of the outcomes are reused and how old."""
    rate = pass_rate(passed or 0, row.n_scored)
    if not row.reused or not n_reused:
        return rate
    many = "" if n_reused == row.n_tasks else f"{number(n_reused)} of {number(row.n_tasks)} "
    age = row.reused.age_days
    old = "" if age is None else f", {'' if n_reused == row.n_tasks else 'up to '}{counted(age, 'day')} old"
    return f"{rate}; {many}reused{old}"


def _is_guess(row: DecisionRow) -> bool:
    return row.cost_delta_pct is None and Flag.DEFAULT_RATES in row.flags


def _versus(row: DecisionRow) -> Phrase:
    mark, word = ROW_STATUS[row.vs_baseline.status]
    versus = row.vs_baseline
    counts = ""
    if versus.n and versus.b is not None and versus.c is not None:
        counts = f": {discordant(versus.b, versus.c, versus.p_value)}"
    accepted = f"; {row.accepted}" if row.accepted else ""
    return (mark, f" {word}{counts}{accepted}", *_repointed(row, "; recommendation "))


def _repointed(row: DecisionRow, lead: str) -> Phrase:
    before = row.vs_baseline.candidate_model
    if before is None or row.candidate_model is None or before == row.candidate_model:
        return ()
    return (lead, Code(before), " → ", Code(row.candidate_model))


def _details(row: DecisionRow) -> Iterator[Phrase]:
    yield from _against_baseline(row)
    yield from changes_lines(row.changes)
    yield from _own(row)
    versus = row.vs_baseline
    yield from tasks_lines(versus, versus.n + versus.unscored, "the baseline")
    yield from _flags(row)


def _against_baseline(row: DecisionRow) -> Iterator[Phrase]:
    versus = row.vs_baseline
    word = ROW_STATUS[versus.status][1]
    yield (sentence(": ".join(filter(None, (f"Against the baseline: {word}", versus.reason)))),)
    if row.accepted:
        yield (sentence(f"This regression fails no job: {row.accepted}"),)
    repointed = _repointed(row, "The recommendation changed: ")
    if repointed:
        yield (*repointed, ". The new candidate is held against the old one's baseline.")
    if versus.broke:
        yield (
            f"Broke against the baseline ({number(len(versus.broke))}): ",
            *listing(versus.broke, surely=versus.broke_surely),
        )
        if order := broken_order(row.samples, len(versus.broke), len(versus.broke_surely)):
            yield (order,)
    if versus.attribution:
        yield (sentence(f"Who moved since the baseline: {versus.attribution}"),)
    if versus.recovered:
        yield (f"Recovered ({number(len(versus.recovered))}): ", *listing(versus.recovered))
    if versus.unscored:
        yield (f"{counted(versus.unscored, 'paired task')} left the comparison: unscored on one side.",)
    if versus.tokenjam_version and versus.tokenjam_version != row.tokenjam_version:
        yield ("The baseline was measured with tokenjam ", Code(versus.tokenjam_version), ".")


def _own(row: DecisionRow) -> Iterator[Phrase]:
    if row.verdict is None:
        return
    yield (sentence(": ".join(filter(None, (f"Candidate against original: {row.verdict}", row.verdict_reason)))),)
    if row.early_stop and row.early_stop.stopped:
        yield (stopped_early(row.early_stop),)
    if row.broke:
        yield (
            f"Passed by the original only ({number(len(row.broke))}): ",
            *listing(row.broke, ASIDE, surely=row.broke_surely),
        )
        if order := broken_order(row.samples, len(row.broke), len(row.broke_surely)):
            yield (order,)
    if row.n_unscored:
        share = percent(100 * row.n_unscored / row.n_tasks) if row.n_tasks else "—"
        yield (
            f"Unscored: {number(row.n_unscored)} of {counted(row.n_tasks, 'task')} ({share}), not counted as wrong.",
        )
    if row.causes:
        yield ("Causes of the candidate's non-passes: ", *causes_phrase(row.causes), ".")
    if row.n_scored and row.detectable_drop_pp is not None:
        yield (f"Detectable: a true drop of {number(row.detectable_drop_pp, 1)} pp is found with 80 % power.",)
    cost = cost_sentence(
        (row.original_cost_usd, row.candidate_cost_usd),
        row.cost_delta_pct,
        row.claimed_saving_pct,
        row.output_token_inflation,
        scripted=Flag.MOCK in row.flags,
    )
    if cost:
        yield (cost,)


def _flags(row: DecisionRow) -> Iterator[Phrase]:
    if row.lacking:
        yield (not_recorded(row.lacking),)
    for flag in row.flags:
        if flag is not Flag.PROMPT_CHANGED or not row.vs_baseline.prompt_changed:
            yield (FLAG[flag],)


def _facts(decision: Decision, run_url: str | None) -> Iterator[Phrase]:
    yield _compared_with(decision)
    yield from (told(sentence(note)) for note in decision.baseline.notes)
    if decision.tokenjam_version:
        yield ("tokenjam ", Code(decision.tokenjam_version), ".")
    found = dict.fromkeys(row.recommended_by for row in decision.rows if row.recommended_by)
    if found:
        yield ("The candidate comes from: ", *joined((Code(source),) for source in found), ".")
    compared = [row for row in decision.rows if row.vs_baseline.status in _TESTED and row.vs_baseline.b is not None]
    if decision.pooled.rows > 1:
        yield (_together(decision.pooled, len(compared)),)
    yield (f"Spent by this run: {dollars(decision.cost_usd)}.",)
    yield from (told(sentence(note)) for note in decision.notes)
    if run_url:
        yield ("The run: ", Link(run_url))


def _together(pooled: Pooled, compared: int) -> str:
    """The pooled test, and which of the rows above it is about."""
    which = f"All {compared}" if pooled.rows == compared else f"{pooled.rows} of {compared}"
    apart = "" if pooled.rows == compared else " (the others are tested apart)"
    shared = "" if pooled.runs == pooled.rows else ", a run that rows share counted once"
    return f"{which} compared rows together{apart}{shared}: {discordant(pooled.b, pooled.c, pooled.p)}."


_TESTED = frozenset({RowStatus.REGRESSION, RowStatus.NO_REGRESSION, RowStatus.INSUFFICIENT_EVIDENCE})


def _compared_with(decision: Decision) -> Phrase:
    label = decision.baseline
    if label.ref is None and label.sha is None:
        return ("Compared with: no baseline.",)
    parts: list[Part] = ["Compared with: "]
    if label.ref:
        parts.append(Code(label.ref))
    if label.sha:
        parts += [" at " if label.ref else "", Code(label.sha[:BASELINE_SHA])]
    return (*parts, ".")
