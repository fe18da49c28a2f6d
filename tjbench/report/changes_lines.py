"""What changed since a row's baseline, in sentences: its tasks, and why its dollars did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tjbench.compare.changes import Changes, SavingChange, TokenUse
from tjbench.report.page import Code, Phrase, joined, listing
from tjbench.report.units import counted, number, percent, signed, signed_percent

ASIDE = 10


class ChangedTasks(Protocol):
    """Ids of tasks that head and baseline do not hold alike."""

    @property
    def prompt_changed(self) -> tuple[str, ...]: ...
    @property
    def added(self) -> tuple[str, ...]: ...
    @property
    def removed(self) -> tuple[str, ...]: ...
    @property
    def rechecked(self) -> tuple[str, ...]: ...


def tasks_lines(tasks: ChangedTasks, compared: int, since: str) -> Iterator[Phrase]:
    """What of the suite changed; ``compared`` is how many tasks pair up, ``since`` what the head is held against."""
    if tasks.prompt_changed:
        n = len(tasks.prompt_changed)
        which: Phrase = ("every compared task.",) if n == compared else listing(tasks.prompt_changed, ASIDE)
        yield (f"prompt_changed ({number(n)}), compared all the same: ", *which)
    for ids, text in (
        (tasks.added, f"Added since {since} ({{n}}), left out of the comparison"),
        (tasks.removed, f"Removed since {since} ({{n}})"),
        (tasks.rechecked, f"Checked differently than in {since} ({{n}}), left out of the comparison"),
    ):
        if ids:
            yield (text.format(n=number(len(ids))) + ": ", *listing(ids, ASIDE))


def changes_lines(changes: Changes | None) -> Iterator[Phrase]:
    """Prices, tokens and the saving; nothing for a row that has no baseline."""
    if changes is None:
        return
    if changes.prices:
        moved = joined(
            (Code(price.model), f" {price.field} ${price.before:g} → ${price.after:g}") for price in changes.prices
        )
        yield ("Price table changed, per million tokens: ", *moved, ".")
    moved_tokens = [_used(use) for use in changes.tokens if use.changed]
    if moved_tokens:
        yield (f"Tokens a task, over {counted(changes.n, 'task')}: {'; '.join(moved_tokens)}.",)
    if changes.saving:
        yield (f"{_saving(changes.saving)}{_claimed(changes)}.",)
    elif changes.why:
        yield (f"What moved the saving is not known: {changes.why}.",)


def _used(use: TokenUse) -> str:
    read = _step(use.input_before, use.input_after)
    return f"{use.role} {read} in, {_step(use.output_before, use.output_after)} out"


def _step(before: float, after: float) -> str:
    change = f" ({signed_percent(100 * (after / before - 1))})" if before and after != before else ""
    return f"{number(before, 1)} → {number(after, 1)}{change}"


def _saving(saving: SavingChange) -> str:
    if (saving.price_effect, saving.recommendation_effect, saving.token_effect) == (0, 0, 0):
        return f"Measured saving on the paired tasks: {percent(saving.after, 2)}, as before"
    total = signed(saving.after - saving.before, 2)
    return (
        f"Measured saving on the paired tasks: {percent(saving.before, 2)} → {percent(saving.after, 2)} ({total} pp): "
        f"prices {signed(saving.price_effect, 2)}, recommendation {signed(saving.recommendation_effect, 2)}, "
        f"tokens {signed(saving.token_effect, 2)} pp"
    )


def _claimed(changes: Changes) -> str:
    before, after = (
        "—" if claim is None else percent(claim) for claim in (changes.claimed_before, changes.claimed_after)
    )
    if before == after == "—":
        return ""
    return f"; claimed by TokenJam's rates: {after if before == after else f'{before} → {after}'}"
