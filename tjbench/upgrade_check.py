"""Two versions of TokenJam held against each other for $0: what changed, stored results at both, what needs a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce

from tjbench.compare.artifact import RECOMMENDED, Artifact, RowKey
from tjbench.compare.map_diff import PriceChange, Recommendation, prices_changed, recommendations_changed
from tjbench.compare.matrix import newest_per_key, version_order
from tjbench.config import Config, ModelSpec
from tjbench.pricing import Rates, Usage, cost_usd
from tjbench.rows import models_of
from tjbench.store.artifacts import Loaded
from tjbench.tokenjam import Snapshot, claimed_saving_pct
from tjbench.versions import Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """Dollars of both models of one artifact at one version's rates; ``guessed``: at a placeholder price."""

    original_usd: float
    candidate_usd: float
    guessed: bool

    @property
    def delta_pct(self) -> float | None:
        """Measured change of cost from original to candidate, in percent; none where a price is a guess."""
        free = self.guessed or self.original_usd <= 0
        return None if free else 100 * (self.candidate_usd / self.original_usd - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repriced:
    """A stored artifact's recorded tokens at both versions' rates of today, or ``why`` there are no dollars."""

    file: str
    artifact: Artifact
    before: Priced | None = None
    after: Priced | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A row whose recommended candidate changed: ``was`` is the one that was measured, or recommended before."""

    key: RowKey
    candidate: str
    was: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeCheck:
    """Both versions side by side. ``scope`` are the originals in use; empty: every one of the map."""

    before: Snapshot
    after: Snapshot
    recommendations: tuple[Recommendation, ...]
    prices: tuple[PriceChange, ...]
    repriced: tuple[Repriced, ...]
    needs_run: tuple[Pending, ...]
    withdrawn: tuple[RowKey, ...]
    scope: frozenset[str]
    skipped: Mapping[str, str]
    ignored_overrides: tuple[str, ...]

    @property
    def moved(self) -> tuple[Recommendation, ...]:
        """Recommendations for models in use that are other ones now, or none any more."""
        return tuple(
            found
            for found in self.recommendations
            if found.before is not None and (not self.scope or found.original in self.scope)
        )


def compare_versions(
    config: Config, loaded: Loaded, wanted_before: str | None, wanted_after: str, versions: Versions
) -> UpgradeCheck:
    """Ask both versions (``None``: that of the artifacts, else the installed one) and compare; no model is called.

    Raises ``UsageError`` for a version that does not exist and ``IncompleteError`` where the index cannot be reached.
    """
    chosen, _ = newest_per_key(loaded.artifacts.values())
    used = [ModelSpec.parse(text) for a in loaded.artifacts.values() for text in (a.original_model, a.candidate_model)]
    configured = models_of(config) if config.proof != Config().proof else []
    at = datetime.now(UTC)
    old = versions.open(wanted_before or _baseline_version(chosen.values()), "--from")
    new = versions.open(wanted_after, "--to")
    specs = list(dict.fromkeys([*used, *configured]))
    before = old.everything(specs, at=at)
    after = new.everything([*specs, *before.mapped], at=at)
    if set(after.candidates) - set(before.candidates):
        before = old.everything([*specs, *after.candidates], at=at)
    rows = {key: artifact.candidate_model for key, artifact in chosen.items() if key.slot == RECOMMENDED}
    needed, withdrawn = _pending(rows, after)
    needed += _unmeasured(config, set(rows), before, after) if configured else []
    return UpgradeCheck(
        before=before,
        after=after,
        recommendations=recommendations_changed(_named(before), _named(after)),
        prices=prices_changed(_timed(before), _timed(after)),
        repriced=tuple(reprice(name, a, before, after) for name, a in loaded.artifacts.items()),
        needs_run=tuple(needed),
        withdrawn=tuple(withdrawn),
        scope=frozenset([*(key.original for key in rows), *map(str, configured)]),
        skipped=loaded.rejected,
        ignored_overrides=after.ignored_overrides,
    )


def reprice(file: str, artifact: Artifact, before: Snapshot, after: Snapshot) -> Repriced:
    """One artifact's recorded tokens at both versions' rates."""
    used = [_used(artifact, side) for side in ("original", "candidate")]
    if artifact.mock:
        return Repriced(file=file, artifact=artifact, why="scripted models use no tokens")
    if artifact.uncontrolled:
        return Repriced(file=file, artifact=artifact, why="a replay without --control compares no dollars of one day")
    if artifact.costs_stated or not all(tokens.input + tokens.cache_read + tokens.cache_write for tokens in used):
        return Repriced(file=file, artifact=artifact, why="the file does not hold the tokens that were used")
    models = ModelSpec.parse(artifact.original_model), ModelSpec.parse(artifact.candidate_model)
    return Repriced(
        file=file, artifact=artifact, before=_priced(used, models, before), after=_priced(used, models, after)
    )


def dated_savings(snapshot: Snapshot) -> list[tuple[str, str, list[tuple[datetime | None, float]]]]:
    """``(original, candidate, [(from, saving in percent), …])`` of recommended pairs whose saving changes by date."""
    found = []
    for original, candidate in snapshot.candidates.items():
        if candidate is None or not (original in snapshot.dated or candidate in snapshot.dated):
            continue
        sides = _timed(snapshot)[str(original)], _timed(snapshot)[str(candidate)]
        starts = sorted({start for side in sides for start, _ in side if start is not None})
        steps: list[tuple[datetime | None, float]] = []
        for start in (None, *starts):
            saving = claimed_saving_pct(_held(sides[0], start), _held(sides[1], start))
            if saving is not None and (not steps or steps[-1][1] != saving):
                steps.append((start, saving))
        if len(steps) > 1:
            found.append((str(original), str(candidate), steps))
    return found


def saving_pct(snapshot: Snapshot, original: str, candidate: str | None) -> float | None:
    """What the version's rates imply at 3 input tokens to 1 output token; none where it has no price."""
    if candidate is None:
        return None
    rates = [snapshot.rates.get(ModelSpec.parse(model)) for model in (original, candidate)]
    if rates[0] is None or rates[1] is None or "default" in {rates[0].source, rates[1].source}:
        return None
    return claimed_saving_pct(rates[0], rates[1])


def _baseline_version(artifacts: Iterable[Artifact]) -> str:
    found = max((artifact.tokenjam_version for artifact in artifacts), key=version_order, default="installed")
    return found if version_order(found)[0] else "installed"


def _pending(rows: Mapping[RowKey, str], after: Snapshot) -> tuple[list[Pending], list[RowKey]]:
    needed, withdrawn = [], []
    for key, was in rows.items():
        now = after.candidates.get(ModelSpec.parse(key.original))
        if now is None:
            withdrawn.append(key)
        elif str(now) != was:
            needed.append(Pending(key=key, candidate=str(now), was=was))
    return needed, withdrawn


def _unmeasured(config: Config, stored: set[RowKey], before: Snapshot, after: Snapshot) -> list[Pending]:
    """Rows of the configuration that nothing is stored of and whose recommendation differs."""
    found = []
    for proof in config.proof:
        for suite, original in proof.combinations():
            key = RowKey(suite, str(original), RECOMMENDED)
            was, now = before.candidates.get(original), after.candidates.get(original)
            if proof.candidate is None and key not in stored and now is not None and was != now:
                found.append(Pending(key=key, candidate=str(now), was=str(was) if was else None))
    return found


def _named(snapshot: Snapshot) -> dict[str, str | None]:
    return {str(spec): str(found) if found else None for spec, found in snapshot.candidates.items()}


def _timed(snapshot: Snapshot) -> dict[str, tuple[tuple[datetime | None, Rates], ...]]:
    """Every price with its first instant; a placeholder is no price."""
    return {
        str(spec): snapshot.dated.get(spec, ((None, rates),))
        for spec, rates in snapshot.rates.items()
        if rates.source != "default"
    } | {str(spec): () for spec, rates in snapshot.rates.items() if rates.source == "default"}


def _held(side: Sequence[tuple[datetime | None, Rates]], start: datetime | None) -> Rates:
    return [rates for since, rates in side if since is None or (start is not None and since <= start)][-1]


def _used(artifact: Artifact, side: str) -> Usage:
    trials = [task.original if side == "original" else task.candidate for task in artifact.tasks]
    return reduce(lambda total, trial: total + trial.usage, trials, Usage())


def _priced(used: Sequence[Usage], models: tuple[ModelSpec, ModelSpec], snapshot: Snapshot) -> Priced:
    rates = [snapshot.rates[model] for model in models]
    return Priced(
        original_usd=cost_usd(used[0], rates[0]),
        candidate_usd=cost_usd(used[1], rates[1]),
        guessed=any(rate.source == "default" for rate in rates),
    )
