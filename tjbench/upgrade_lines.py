"""What another version of TokenJam changes, in lines for people: the command, the comment and the log say the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tjbench.compare.map_diff import Recommendation
from tjbench.report.units import counted, dollars, percent, signed_percent
from tjbench.upgrade_check import Priced, Repriced, UpgradeCheck, dated_savings, saving_pct


def summary(check: UpgradeCheck) -> Iterator[str]:
    """What differs between the two versions, in lines for people."""
    yield f"tokenjam {check.before.version} → {check.after.version}, prices at {check.after.at:%Y-%m-%d}"
    for found in check.recommendations:
        yield f"  {_moved(found)}{_saving(check, found)}"
    if not check.recommendations:
        yield "  every recommendation is the same"
    yield from _price_lines(check)
    for original, candidate, steps in dated_savings(check.after):
        said = ", ".join(f"{percent(saving)} {_since(start, steps[1][0])}" for start, saving in steps)
        yield f"  {original} → {candidate}: rates imply {said}"
    yield from (f"  {_repriced(found)}" for found in check.repriced)
    yield from (
        f"  withdrawn: {key.suite}, {key.original}: {check.after.version} recommends none" for key in check.withdrawn
    )
    yield from (f"  skipped {name}: {why}" for name, why in check.skipped.items())
    if check.ignored_overrides:
        yield f"  price overrides found and not applied: {', '.join(check.ignored_overrides)}"


def _moved(found: Recommendation) -> str:
    if found.before is None:
        return f"added: {found.original} → {found.after}"
    if found.after is None:
        return f"removed: {found.original} → {found.before}"
    return f"changed: {found.original}: {found.before} → {found.after}"


def _saving(check: UpgradeCheck, found: Recommendation) -> str:
    if found.after is None:
        return ""
    saving = saving_pct(check.after, found.original, found.after)
    return ": unpriced" if saving is None else f", rates imply {percent(saving)} saved"


def _price_lines(check: UpgradeCheck) -> Iterator[str]:
    """Prices of models that are recommended or in use; the rest is counted."""
    near = {str(m) for pair in check.after.candidates.items() for m in pair if m} | check.scope
    shown = [change for change in check.prices if change.model in near and change.field in ("input", "output")]
    for change in shown:
        since = f" from {change.effective:%Y-%m-%d}" if change.effective else ""
        yield f"  {change.model} {change.field}: {_usd(change.before)} → {_usd(change.after)} per million tokens{since}"
    rest = len({change.model for change in check.prices}) - len({change.model for change in shown})
    if rest > 0:
        yield f"  and prices of {counted(rest, 'other model')}"
    if not check.prices:
        yield "  every price is the same"


def _repriced(found: Repriced) -> str:
    artifact = found.artifact
    title = f"{artifact.suite.name}, {artifact.original_model} → {artifact.candidate_model}"
    if found.before is None or found.after is None:
        return f"not repriced: {title}: {found.why}"
    sides = [_saved(side) for side in (found.before, found.after)]
    return f"repriced: {title}: {sides[0]}; now {sides[1]}"


def _saved(side: Priced) -> str:
    pair = f"{dollars(side.original_usd)} → {dollars(side.candidate_usd)}"
    if side.guessed:
        return f"{pair} at a placeholder price"
    return pair if side.delta_pct is None else f"{pair} ({signed_percent(side.delta_pct)})"


def _since(start: datetime | None, first: datetime | None) -> str:
    return f"from {start:%Y-%m-%d}" if start else f"before {first:%Y-%m-%d}" if first else "always"


def _usd(price: float | None) -> str:
    return "no price" if price is None else f"${price:g}"
