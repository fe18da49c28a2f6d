"""Which rows are worse, corrected for how many rows and policies were looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ldexp

from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.early_stop import evidence, evidence_needed
from tjbench.compare.matrix import Row, Standing
from tjbench.compare.pair import Pair
from tjbench.compare.policy import GatePolicy
from tjbench.compare.savings import Dearer, find_dearer
from tjbench.compare.stats import FamilyResult, family_test, sign_flip_one_sided, tarone_reject
from tjbench.config import Policy

STATISTICAL = (Policy.REGRESSION, Policy.DOWNSIZE, Policy.SAVINGS)

Run = tuple[Hashable, tuple[int, ...]]
"""What was tested: whose it is, and the change of every task. Rows that share a run count once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Rows held against their baseline together, with at most alpha chance of any false alarm among them.

    ``failing`` rows may fail the job by ``regression``; rows that may not are a family of their own, so that they
    neither raise an alarm nor cost the others alpha. A row whose regression is ``accepted`` is a family alone.
    Not ``confirmed``: asked again, the rows together show nothing. Of its ``rows`` those that share a run are tested
    once.
    """

    failing: bool
    required: bool
    accepted: bool = False
    rows: int
    result: FamilyResult
    regressed: frozenset[RowKey]
    confirmed: bool = True

    @property
    def pooled_only(self) -> bool:
        """Whether all rows together are worse and no single one is."""
        return self.result.pooled_rejected and self.confirmed and not self.regressed and not self.accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """Rows whose test rejects after correction, by key: against the baseline, and candidate against original.
    ``dearer`` is about cost, and empty unless a policy asks. So many rows were ``stoppable`` early. ``unconfirmed``
    rows rejected once and, asked again, did not; the sentence says how far."""

    families: tuple[Family, ...]
    regressed: frozenset[RowKey]
    worse_than_original: frozenset[RowKey]
    downsized: frozenset[RowKey]
    dearer: Dearer
    stoppable: int = 0
    unconfirmed: Mapping[RowKey, str] = field(default_factory=dict)

    @property
    def doubted(self) -> bool:
        """Whether an alarm was not confirmed."""
        return bool(self.unconfirmed) or any(
            family.result.pooled_rejected and not family.confirmed and not family.regressed for family in self.families
        )


def correct(rows: Sequence[Row], policy: GatePolicy) -> Corrected:
    """Test every row with a complete head. Alpha is divided over the enabled statistical policies, then over the two
    kinds of rows that ``regression`` looks at, those with a baseline and those without, by their number.

    Where rows could stop early half of alpha is theirs, and the tests of all others have the other half. A row that did
    stop is worse than its original by its evidence alone.
    """
    enabled = [p for p in STATISTICAL if any(policy.fails_on(row.key, p) for row in rows)]
    stoppable = sum(row.head is not None and row.head.early_stop is not None for row in rows)
    alpha = policy.rule.alpha / max(1, len(enabled)) / (2 if stoppable else 1)
    measured = [(row, row.head) for row in rows if row.head is not None and not row.head.incomplete]
    groups: dict[_Group, list[tuple[Row, Artifact]]] = defaultdict(list)
    for row, head in measured:
        groups[_group(row, policy)].append((row, head))
    families: list[Family] = []
    alone: set[RowKey] = set()
    for group, members in sorted(groups.items(), key=lambda item: item[0].rank):
        compared = {row.key: _against_baseline(row, head) for row, head in members if row.change is not None}
        solo = {row.key: _against_original(head) for row, head in members if stands_alone(row) and not head.stopped}
        share = alpha / max(1, len(compared) + len(solo))
        if compared:
            families.append(_family(compared, share * len(compared), group))
        alone |= _rejected(solo, share * len(solo))
    asked = {row.key: head for row, head in measured if policy.asks(row.key, Policy.DOWNSIZE)}
    downsize = {key: _against_original(head) for key, head in asked.items() if not head.stopped}
    needed = evidence_needed(stoppable, policy.rule.alpha)
    stopped = frozenset(row.key for row, head in measured if head.stopped and evidence(_own(head)) >= needed)
    known = [{key: downsize.pop(key)} for key in policy.accepted if key in downsize]
    return Corrected(
        families=tuple(families),
        regressed=frozenset(key for family in families for key in family.regressed),
        worse_than_original=frozenset(alone) | stopped,
        downsized=_rejected(downsize, alpha).union(
            *(_rejected(alone, alpha) for alone in known), stopped & asked.keys()
        ),
        dearer=find_dearer([row for row in rows if policy.fails_on(row.key, Policy.SAVINGS)], alpha),
        stoppable=stoppable,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    failing: bool
    required: bool
    accepted: RowKey | None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Those that may fail the job first, then what is accepted last."""
        return not self.failing, self.accepted is not None, not self.required


def _group(row: Row, policy: GatePolicy) -> _Group:
    return _Group(
        failing=policy.fails_on(row.key, Policy.REGRESSION),
        required=policy.of(row.key).required,
        accepted=row.key if row.key in policy.accepted else None,
    )


def stands_alone(row: Row) -> bool:
    """Whether the row has no baseline that it can be held against, so that only its own verdict speaks."""
    return row.head is not None and row.standing in {Standing.NO_BASELINE, Standing.NOT_COMPARABLE}


def _family(runs: dict[RowKey, Run], alpha: float, group: _Group) -> Family:
    distinct = list(dict.fromkeys(runs.values()))
    result = family_test([changes for _, changes in distinct], alpha)
    rejected = {run for run, is_rejected in zip(distinct, result.rejected, strict=True) if is_rejected}
    regressed = frozenset(key for key, run in runs.items() if run in rejected)
    return Family(
        failing=group.failing,
        required=group.required,
        accepted=group.accepted is not None,
        rows=len(runs),
        result=result,
        regressed=regressed,
    )


def _rejected(runs: dict[RowKey, Run], alpha: float) -> frozenset[RowKey]:
    """Rows that are worse by Tarone-Holm; no test over all of them together is asked here, so none takes alpha."""
    distinct = list(dict.fromkeys(runs.values()))
    if not distinct:
        return frozenset()
    p_values = [sign_flip_one_sided(changes) for _, changes in distinct]
    smallest = [ldexp(1, -sum(change != 0 for change in changes)) for _, changes in distinct]
    flags = tarone_reject(p_values, smallest, alpha)
    rejected = {run for run, is_rejected in zip(distinct, flags, strict=True) if is_rejected}
    return frozenset(key for key, run in runs.items() if run in rejected)


def _against_baseline(row: Row, head: Artifact) -> Run:
    """The candidate's run; originals that share it, and its baseline, are not part of its name."""
    before = row.baseline.candidate_model if row.baseline else None
    return (row.key.suite, before, head.candidate_model), _changes(row.overlap.candidate)


def _against_original(head: Artifact) -> Run:
    return (head.suite.name, head.original_model, head.candidate_model), _changes(_own(head))


def _own(head: Artifact) -> list[Pair]:
    return [Pair(task_id=task.task_id, before=task.original, after=task.candidate) for task in head.tasks]


def _changes(pairs: Iterable[Pair]) -> tuple[int, ...]:
    return tuple(pair.change for pair in pairs if pair.scored)
