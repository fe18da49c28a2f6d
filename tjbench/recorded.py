"""Recorded calls as rows to measure: which original is held against which candidate, and what it did then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose, isfinite

from tjbench.compare.artifact import RECOMMENDED
from tjbench.compare.pair import Trial
from tjbench.config import Config, ModelSpec
from tjbench.errors import UsageError
from tjbench.models.model import Sampling
from tjbench.models.providers import Gateways, endpoint
from tjbench.pricing import Rates, Usage, cost_usd
from tjbench.report.units import counted
from tjbench.row_plan import ReplayPlan, RowPlan
from tjbench.rows import rule_of
from tjbench.suites.task import Canned, JudgedCheck, OverlapCheck, Suite, Task
from tjbench.suites.telemetry.turn import Census, Turn
from tjbench.tokenjam import Snapshot

SUITE = "replay"
AGREES = (
    "The answer agrees with the reference: whoever asked would be served the same by both. It states the same facts, "
    "results, decisions or code behaviour, leaves out nothing that matters and adds nothing that contradicts. Wording, "
    "length, order and formatting do not matter."
)
AGREEMENT = 0.7
"""The share of full marks from which a judge's verdict is agreement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """An original with the model that it is held against, and who named that."""

    original: ModelSpec
    candidate: ModelSpec
    slot: str
    recommended_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The originals that are replayed, by name, and those that are ``left_out`` with why."""

    snapshot: Snapshot
    pairs: Mapping[str, Pairing]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def choose(
    census: Census,
    originals: Mapping[str, ModelSpec],
    snapshot: Snapshot,
    *,
    candidate: str | None,
    control: bool,
    gateways: Gateways,
    environ: Mapping[str, str],
) -> Choice:
    """A candidate for every original: ``candidate``, else what TokenJam recommends.

    Raises ``UsageError`` for a named candidate that cannot be asked, and where no original is left.
    """
    pinned = ModelSpec.parse(candidate) if candidate else None
    if pinned:
        endpoint(pinned, gateways, environ)
    pairs: dict[str, Pairing] = {}
    left_out: dict[str, str] = {}
    for text, _ in census.replayable.most_common():
        spec = originals.get(text)
        found = pinned or (snapshot.candidates.get(spec) if spec else None)
        asked = [model for model in (found, spec if control else None) if model]
        if spec is None:
            left_out[text] = "its recorded name is no model's name"
        elif found is None:
            left_out[text] = snapshot.why_none(spec)
        elif found == spec:
            left_out[text] = "it is the candidate itself"
        elif closed := next((model for model in asked if not _can_be_asked(model, gateways, environ)), None):
            left_out[text] = f"{closed} cannot be asked directly"
        else:
            pairs[text] = Pairing(
                original=spec,
                candidate=found,
                slot=str(pinned) if pinned else RECOMMENDED,
                recommended_by="pinned" if pinned else f"tokenjam {snapshot.version} {snapshot.lookup}",
            )
    notes = tuple(_left_out(left_out, census))
    if not pairs:
        fix = "name a candidate: --candidate provider:model" if pinned is None else "name another: --candidate"
        raise UsageError("no recorded model can be replayed", why="; ".join(notes), fix=fix)
    prices = (f"prices are overridden by {name}" for name in snapshot.overrides)
    way = ("what is left out can be held against a model of your choice: --candidate",)
    return Choice(
        snapshot=snapshot,
        pairs=pairs,
        left_out=left_out,
        notes=(*notes, *(way if left_out and pinned is None else ()), *prices),
    )


def _can_be_asked(spec: ModelSpec, gateways: Gateways, environ: Mapping[str, str]) -> bool:
    try:
        endpoint(spec, gateways, environ)
    except UsageError:
        return False
    return True


def _left_out(left_out: Mapping[str, str], census: Census) -> Iterator[str]:
    for original, why in left_out.items():
        yield f"left out: {original:.80} ({counted(census.replayable[original], 'call')}): {why}"


def plan_replay(
    turns: Sequence[Turn], choice: Choice, census: Census, config: Config, *, control: bool
) -> tuple[RowPlan, ...]:
    """One row an original, its recorded answers the reference; the judge is ``config``'s, else the overlap of words."""
    groups: dict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        groups[turn.original].append(turn)
    judge = config.judge.model
    return tuple(
        RowPlan(
            suite=Suite(
                name=SUITE,
                tasks=tuple(task_of(turn, judged=judge is not None) for turn in group),
                packaged=False,
                n_available=census.replayable[original],
            ),
            original=choice.pairs[original].original,
            candidate=choice.pairs[original].candidate,
            slot=choice.pairs[original].slot,
            recommended_by=choice.pairs[original].recommended_by,
            sampling=Sampling(max_tokens=config.proof[0].max_tokens),
            samples=1,
            rule=rule_of(config),
            replay=ReplayPlan(
                judged_by=judge or "overlap",
                reference=None if control else {turn.id: recorded(turn, choice) for turn in group},
                n_partial=sum(turn.is_partial for turn in group),
            ),
        )
        for original, group in groups.items()
    )


def task_of(turn: Turn, *, judged: bool) -> Task:
    """The recorded conversation, decided by agreement with the recorded answer."""
    check = (
        JudgedCheck(criteria=AGREES, reference=turn.answer, threshold=AGREEMENT)
        if judged
        else OverlapCheck(reference=turn.answer)
    )
    return Task(
        id=turn.id,
        messages=turn.messages,
        check=check,
        canned=Canned(right=turn.answer, wrong="(a scripted answer that disagrees)"),
        salt=turn.salt,
    )


def recorded(turn: Turn, choice: Choice) -> Trial:
    """What the original did then. Its dollars are TokenJam's of that day; ``None`` where nobody knows them."""
    latency = turn.latency_s
    return Trial(
        passes=1,
        samples=1,
        usage=turn.usage or Usage(),
        latency_s=round(latency, 3) if latency is not None and isfinite(latency) else None,
        stated_cost_usd=_cost(turn, choice),
    )


def _cost(turn: Turn, choice: Choice) -> float | None:
    """As TokenJam stored it, where that is a price; else its price of that instant, and its guess where it has none."""
    if turn.usage is None:
        return None
    stored = turn.cost_usd if turn.cost_usd is not None and isfinite(turn.cost_usd) and turn.cost_usd >= 0 else None
    if stored is not None and not is_guess(turn, choice.snapshot):
        return round(stored, 8)
    rates = _rates_then(turn, choice)
    if rates.source != "default":
        return cost_usd(turn.usage, rates)
    return None if stored is None else round(stored, 8)


def is_guess(turn: Turn, snapshot: Snapshot) -> bool:
    """Whether TokenJam's dollars of the call are its placeholder's.

    Stores before 0.6.4 and exports do not say it: there dollars that are the placeholder's to the last digit tell
    (cached tokens were free in it before 0.6.2).
    """
    if turn.guessed is not None or turn.usage is None or turn.cost_usd is None:
        return bool(turn.guessed)
    free_cache = replace(snapshot.placeholder, cache_read=0.0, cache_write=0.0)
    guesses = (cost_usd(turn.usage, rates) for rates in (snapshot.placeholder, free_cache))
    return any(isclose(turn.cost_usd, guess, abs_tol=1e-9) for guess in guesses)


def is_unpriced(turn: Turn, choice: Choice) -> bool:
    """Whether only a placeholder tells what the call cost."""
    guessed = turn.cost_usd is not None and is_guess(turn, choice.snapshot)
    return guessed and _rates_then(turn, choice).source == "default"


def _rates_then(turn: Turn, choice: Choice) -> Rates:
    """The price at the instant of the call, where TokenJam's has a date."""
    spec = choice.pairs[turn.original].original
    steps = choice.snapshot.dated.get(spec, ())
    held = [rates for start, rates in steps if turn.at is not None and (start is None or start <= turn.at)]
    return held[-1] if held else choice.snapshot.rates[spec]
