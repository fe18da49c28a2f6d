"""Known regressions: which row an acceptance is about, whether it still holds, and that it is never silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date

from tjbench.compare.artifact import RECOMMENDED, RowKey
from tjbench.compare.matrix import Row
from tjbench.compare.policy import GatePolicy
from tjbench.config import Accept


def with_acceptances(policy: GatePolicy, accepts: Iterable[Accept], rows: Sequence[Row], today: date) -> GatePolicy:
    """The policy with what is accepted of ``rows`` on ``today`` (UTC); of several for a row the last to end counts."""
    accepted: dict[RowKey, Accept] = {}
    expired: dict[RowKey, Accept] = {}
    unmatched = []
    for accept in sorted(accepts, key=lambda accept: accept.until):
        about = [row.key for row in rows if _is_about(accept, row)]
        (accepted if today <= accept.until else expired).update(dict.fromkeys(about, accept))
        if not about:
            unmatched.append(accept)
    ended = {key: accept for key, accept in expired.items() if key not in accepted}
    return replace(policy, accepted=accepted, expired=ended, unmatched=tuple(unmatched))


def acceptance_notes(policy: GatePolicy, needed: frozenset[RowKey]) -> Iterator[str]:
    """Acceptances that nothing needed, and those that are about no row."""
    for held, ending in ((policy.accepted, "not needed"), (policy.expired, "ended and not needed")):
        for key, accept in held.items():
            if key not in needed:
                yield f"{accepted_text(accept)}: {_about(accept)}: {ending}: this run shows no regression of it"
    for accept in policy.unmatched:
        yield f"{accepted_text(accept)}: {_about(accept)}: no row is like this"


def accepted_text(accept: Accept) -> str:
    """``accepted until 2026-12-31: reason``."""
    return f"accepted until {accept.until}: {accept.reason}"


def _about(accept: Accept) -> str:
    return f"{accept.suite}, {accept.original} → {accept.candidate}"


def _is_about(accept: Accept, row: Row) -> bool:
    if (row.key.suite, row.key.original) != (accept.suite, accept.original):
        return False
    if accept.candidate == RECOMMENDED:
        return row.key.slot == RECOMMENDED
    measured = row.head or row.baseline
    return measured is not None and measured.candidate_model == accept.candidate
