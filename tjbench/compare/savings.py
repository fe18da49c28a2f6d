"""Whether a row's candidate got dearer than the baseline's: its token use, task by task, at one price table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.matrix import Row
from tjbench.compare.pair import Trial, p_text, tasks
from tjbench.compare.stats import cost_regression_p, tarone_reject
from tjbench.pricing import Rates, cost_usd

TOLERANCE = 0.05
"""The rise in cost, as a proportion, that does not matter."""
FLIPS = 9_999
SEED = 0
_PRICED = frozenset({"packaged", "override"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRise:
    """Dollars of the candidate ``before`` (baseline) and ``after`` (head) for the same tasks, in the same order."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    p_value: float

    @property
    def pct(self) -> float:
        """How much dearer the head is in all, in percent of the baseline."""
        return 100 * (sum(self.after) / sum(self.before) - 1)

    def __str__(self) -> str:
        n = len(self.before)
        change = f"{abs(self.pct):.1f} % {'more' if self.pct >= 0 else 'less'}"
        return f"the candidate costs {change} than the baseline's on {n} {tasks(n)} (p {p_text(self.p_value)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dearer:
    """Rows whose candidate got dearer after correction for all rows, and why others were not judged."""

    rises: Mapping[RowKey, CostRise] = field(default_factory=dict)
    unjudged: Mapping[RowKey, str] = field(default_factory=dict)


def find_dearer(rows: Iterable[Row], alpha: float) -> Dearer:
    """Hold each row's costs against its baseline's by Holm at ``alpha``; rows without a comparable baseline are left
    out. Rows that hold the very same run (a candidate shared by originals) count once."""
    rises: dict[RowKey, CostRise] = {}
    unjudged: dict[RowKey, str] = {}
    for row in rows:
        if row.head is not None and row.head.stopped and row.baseline is not None:
            unjudged[row.key] = row.why
        elif row.change is not None and row.head is not None and not row.head.incomplete:
            found = cost_rise(row)
            if isinstance(found, CostRise):
                rises[row.key] = found
            else:
                unjudged[row.key] = found
    runs = {(key.suite, rise.before, rise.after): rise.p_value for key, rise in rises.items()}
    rejected = tarone_reject(list(runs.values()), [1 / (1 + FLIPS)] * len(runs), alpha)
    dearer = {run for run, is_rejected in zip(runs, rejected, strict=True) if is_rejected}
    return Dearer(
        rises={key: rise for key, rise in rises.items() if (key.suite, rise.before, rise.after) in dearer},
        unjudged=unjudged,
    )


def cost_rise(row: Row) -> CostRise | str:
    """The one-sided test that the candidate costs more than 1.05 times the baseline's, or why there is none.

    Both sides are priced by the head's rates, so that a changed price is no rise. Only where another model is
    recommended than before, and the head does not price the old one, do the baseline's rates price it. Tasks that do
    not say what they used, and models without a price, are judged by the dollars that another tool stated, if it did.
    """
    head, baseline = row.head, row.baseline
    assert head is not None and baseline is not None
    if head.mock:
        return "scripted models use no tokens"
    old = priced_rates(baseline.candidate_model, head, baseline)
    new = priced_rates(head.candidate_model, head)
    scored = [pair for pair in row.overlap.candidate if pair.scored]
    pairs = [pair for pair in scored if says_usage(pair.before) and says_usage(pair.after)]
    stated = [(pair.before.stated_cost_usd, pair.after.stated_cost_usd) for pair in scored]
    if old and new and pairs:
        before = tuple(cost_usd(pair.before.usage, old) for pair in pairs)
        after = tuple(cost_usd(pair.after.usage, new) for pair in pairs)
    elif found := [(then, now) for then, now in stated if then is not None and now is not None]:
        before, after = tuple(then for then, _ in found), tuple(now for _, now in found)
    elif old is None or new is None:
        return f"TokenJam has no price for {baseline.candidate_model if old is None else head.candidate_model}"
    else:
        return "no task says on both sides what it used"
    if not sum(before):
        return "the baseline's candidate cost nothing"
    p = cost_regression_p(before, after, tolerance=TOLERANCE, seed=SEED, flips=FLIPS)
    return CostRise(before=before, after=after, p_value=p)


def priced_rates(model: str, *artifacts: Artifact) -> Rates | None:
    """The first price of ``model`` that TokenJam or its user has set."""
    found = (artifact.rates.get(model) for artifact in artifacts)
    return next((rates for rates in found if rates and rates.source in _PRICED), None)


def says_usage(trial: Trial) -> bool:
    """Whether the trial tells what it used; the older format keeps output tokens alone."""
    usage = trial.usage
    return usage.input + usage.cache_read + usage.cache_write > 0
