"""Statuses, flags and costs in words, the same in every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tjbench.compare.artifact import INFLATION_FLAG, EarlyStopRecord, Flag
from tjbench.compare.decision import RowStatus, Status
from tjbench.compare.stats import Verdict
from tjbench.report.page import Code, Mark, Phrase, joined
from tjbench.report.units import counted, dollars, number, p_value, signed_percent, times

STATUS: Mapping[Status, tuple[Mark, str]] = {
    Status.REGRESSION: (Mark.BAD, "regression"),
    Status.INCOMPLETE: (Mark.BROKEN, "incomplete"),
    Status.INCONCLUSIVE: (Mark.UNSURE, "inconclusive"),
    Status.NO_BASELINE: (Mark.NONE, "no baseline yet"),
    Status.PASS: (Mark.GOOD, "pass"),
    Status.SKIPPED: (Mark.NONE, "skipped"),
}
ROW_STATUS: Mapping[RowStatus, tuple[Mark, str]] = {
    RowStatus.REGRESSION: (Mark.BAD, "regression"),
    RowStatus.INCOMPLETE: (Mark.BROKEN, "incomplete"),
    RowStatus.INSUFFICIENT_EVIDENCE: (Mark.UNSURE, "insufficient evidence"),
    RowStatus.NOT_COMPARABLE: (Mark.NONE, "not comparable"),
    RowStatus.NOT_RE_MEASURED: (Mark.NONE, "not re-measured"),
    RowStatus.NO_BASELINE: (Mark.NONE, "no baseline"),
    RowStatus.NO_REGRESSION: (Mark.GOOD, "no regression"),
}
VERDICT_MARK: Mapping[Verdict, Mark] = {
    Verdict.SIGNIFICANT_REGRESSION: Mark.BAD,
    Verdict.INSUFFICIENT_EVIDENCE: Mark.UNSURE,
    Verdict.NO_SIGNIFICANT_REGRESSION: Mark.GOOD,
}
FLAG: Mapping[Flag, str] = {
    Flag.MOCK: "Mock run: scripted answers, no measurement of a model.",
    Flag.DEFAULT_RATES: "Placeholder prices: TokenJam knows no price here, so every dollar of this row is a guess.",
    Flag.UNKNOWN_CACHE_RATE: "TokenJam has no price for cached tokens that were used here and counts them as free: "
    "these dollars are too low.",
    Flag.JUDGE_SCORED: "Scored by a judge model, which can be wrong itself.",
    Flag.SUSPECT_SCORER: "One cause explains most failures: suspect the scorer or the prompt before the model.",
    Flag.REUSED: "Some outcomes are reused from an earlier run and were not measured now.",
    Flag.OVERRIDES: "Prices come from a local override, not from TokenJam's own table.",
    Flag.PROMPT_CHANGED: "Prompts changed since the baseline.",
}
MOCK_ALERT: Phrase = (
    "MOCK RUN: no model was called. The answers are scripted, so nothing below is a measurement of any model.",
)


def verdict_word(verdict: Verdict | None) -> str:
    """The verdict exactly as it is called everywhere."""
    return verdict.value if verdict else "—"


def models(original: str, candidate: str | None) -> Phrase:
    """``original → candidate``."""
    return (Code(original), " → ", Code(candidate)) if candidate else (Code(original), " → (no recommendation)")


def discordant(b: int, c: int, p: float | None) -> str:
    """What broke and what recovered, with its p-value."""
    tail = "" if p is None else f", {p_value(p)}"
    return f"{number(b)} broke, {number(c)} recovered{tail}"


def cost_change(measured: float | None, claimed_saving: float | None, *, guessed: bool = False) -> str:
    """The measured change of cost beside the one TokenJam's rates claim; both in percent of the original's cost.

    ``guessed``: a placeholder price measures none.
    """
    if guessed:
        return "— (placeholder prices)"
    shown = "—" if measured is None else signed_percent(measured)
    return shown if claimed_saving is None else f"{shown} (claimed {signed_percent(-claimed_saving)})"


def cost_sentence(
    costs: tuple[float | None, float | None],
    measured: float | None,
    claimed: float | None,
    inflation: float | None,
    *,
    scripted: bool = False,
) -> str:
    """Both models' dollars, the change, and why it differs from the claim; ``scripted`` answers measure nothing."""
    if costs[0] is None or costs[1] is None:
        return ""
    text = f"Cost: {dollars(costs[0])} → {dollars(costs[1])}"
    if measured is not None:
        text += f", {'scripted' if scripted else 'measured'} {signed_percent(measured)}"
    if claimed is not None:
        text += f"; TokenJam's rates imply {signed_percent(-claimed)}"
    if inflation is not None:
        short = measured is not None and claimed is not None and measured > -claimed
        loud = ", which eats into the saving" if short and inflation > INFLATION_FLAG else ""
        text += f"; the candidate wrote {times(inflation)} the original's output tokens{loud}"
    return text + "."


def broken_order(samples: int, broke: int, surely: int) -> str:
    """How broken tasks are ordered, where several samples a task let one prove something by itself."""
    if samples == 1 or not broke:
        return ""
    if not surely:
        return f"No single task is worse beyond the chance of its {samples} samples: the order is by p."
    return f"Really broke ({surely}): worse beyond the chance of its own {samples} samples; the others follow by p."


def stopped_early(record: EarlyStopRecord) -> str:
    """What a row rests on that stopped early, and what its numbers are worth."""
    used = f"{number(record.n_used)} of {counted(record.n_planned, 'planned task')} used"
    reached = f"E = {e_value(record)}, where {record.e_needed:.4g} suffices"
    return (
        f"Stopped early: {used}, {reached}. The estimate is biased away from zero, and no interval, p-value or "
        "detectable drop for a fixed number of tasks holds."
    )


def e_value(record: EarlyStopRecord) -> str:
    """E to three digits."""
    return f"{record.e_value:.3g}"


def not_recorded(names: Sequence[str]) -> str:
    """What a measurement of another tool does not say."""
    return f"Not recorded where it was measured: {', '.join(names)}."


def causes_phrase(causes: Mapping[str, int]) -> Phrase:
    """Causes of a non-pass, most frequent first."""
    ranked = sorted(causes.items(), key=lambda item: -item[1])
    return joined((f"{number(count)} ", Code(cause)) for cause, count in ranked)
