"""Every step of a series, across tokenjam versions: each measurement against the last whole one before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.attribution import Attribution, attribute
from tjbench.compare.changes import Changes, find_changes
from tjbench.compare.corrected import correct
from tjbench.compare.decision import DecisionRow, RowStatus
from tjbench.compare.lacking import lacking
from tjbench.compare.matrix import Listed, Row, build_row, version_order
from tjbench.compare.pair import Rule
from tjbench.compare.policy import GatePolicy
from tjbench.compare.rowstatus import held_against

Load = Callable[[Any], Artifact | None]


def whole(listed: Artifact) -> Artifact:
    """An artifact that is read already."""
    return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One measurement as ``row``, held against the one before it: what the gate says of it alone, and why; who moved,
    what moved the dollars, and what was not recorded. An incomplete one is tested against nothing. All but a series'
    last step are without their tasks; ``unscored`` of the paired ones left the test."""

    row: Row
    status: RowStatus
    reason: str
    unscored: int
    attribution: Attribution | None
    changes: Changes | None
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All steps, key by key in the order of versions; artifacts that another stands in for; how many ``earlier`` steps
    are left out; and ``untested`` replays without a control, which are no steps."""

    steps: tuple[Step, ...]
    superseded: tuple[Listed, ...] = ()
    earlier: int = 0
    untested: tuple[Listed, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The steps' rows."""
        return tuple(step.row for step in self.steps)

    def judged(self, rows: Iterable[DecisionRow]) -> Series:
        """The same series with the last steps as they were decided on, which is once for all of them."""
        found = {RowKey(row.suite, row.original_model, row.slot): row.vs_baseline for row in rows}
        last = {step.row.key: place for place, step in enumerate(self.steps)}
        steps = list(self.steps)
        for key, versus in found.items():
            steps[last[key]] = replace(steps[last[key]], status=versus.status, reason=versus.reason)
        return replace(self, steps=tuple(steps))


def build_series(listed: Sequence[Listed], rule: Rule, *, load: Load = whole, most: int | None = None) -> Series:
    """Every step of every series: per key one artifact a tokenjam version, each against the last complete one that
    did not stop early.

    With ``most`` only so many last steps of a key are looked at, and what the first of them is held against. ``load``
    reads what was listed by its label; where it gives ``None`` the next newest of the version stands in. Tasks are kept
    for a key's last step alone.
    """
    series: dict[RowKey, dict[str, list[Listed]]] = defaultdict(lambda: defaultdict(list))
    for one in (one for one in listed if not one.uncontrolled):
        series[one.key][one.tokenjam_version].append(one)
    untested = tuple(one for one in listed if one.uncontrolled)
    steps: list[Step] = []
    superseded: list[Listed] = []
    earlier = 0
    for key in sorted(series):
        versions = sorted(series[key], key=version_order)
        ranked = [
            sorted(series[key][version], key=lambda one: (not one.incomplete, one.created_at), reverse=True)
            for version in versions
        ]
        walk = _Walk(key=key, rule=rule, load=load, most=len(ranked) if most is None else most)
        steps.extend(walk.back(ranked))
        superseded.extend(walk.superseded)
        earlier += walk.earlier
    return Series(steps=tuple(steps), superseded=tuple(superseded), earlier=earlier, untested=untested)


@dataclass(slots=True, kw_only=True)
class _Walk:
    """One key's series from its newest step backwards, so that nothing is read that neither shows nor is needed."""

    key: RowKey
    rule: Rule
    load: Load
    most: int
    steps: list[Step] = field(default_factory=list)
    waiting: list[Artifact] = field(default_factory=list)
    superseded: list[Listed] = field(default_factory=list)
    earlier: int = 0

    def back(self, ranked: Sequence[Sequence[Listed]]) -> list[Step]:
        """``ranked`` holds a group a version, oldest version first, and in a group the best first. Steps oldest first;
        ``earlier`` counts the versions before them."""
        for index in reversed(range(len(ranked))):
            full = len(self.steps) + len(self.waiting) >= self.most
            if full and not self.waiting:
                self.superseded.extend(one for group in ranked[: index + 1] for one in group[1:])
                break
            found = self._read(ranked[index])
            if found is None:
                continue
            if not found.incomplete and not found.stopped:
                self._hold_against(found)
            if not full:
                self.waiting.append(found)
                self.earlier = index
        self._hold_against(None)
        return self.steps[::-1]

    def _read(self, group: Sequence[Listed]) -> Artifact | None:
        """The first of a version that is an artifact."""
        for at, one in enumerate(group, start=1):
            if (found := self.load(one)) is not None:
                self.superseded.extend(group[at:])
                return found
        return None

    def _hold_against(self, baseline: Artifact | None) -> None:
        for head in self.waiting:
            row = build_row(self.key, head, baseline, self.rule)
            if head.incomplete:
                row = replace(row, change=None, original_change=None)
            policy = GatePolicy(rule=self.rule)
            versus = held_against(row, policy, correct([row], policy))
            step = Step(
                row=_without_tasks(row) if self.steps else row,
                status=versus.status,
                reason=versus.reason,
                unscored=versus.unscored,
                attribution=attribute(row, self.rule.alpha),
                changes=find_changes(row),
                lacking=lacking(head),
            )
            self.steps.append(step)
        self.waiting.clear()


def _without_tasks(row: Row) -> Row:
    """A step that is only shown any more: its numbers and the names of what changed, and no task."""
    bare = (side and side.model_copy(update={"tasks": ()}) for side in (row.head, row.baseline))
    head, baseline = bare
    return replace(
        row, head=head, baseline=baseline, overlap=replace(row.overlap, candidate=(), original=(), reused=())
    )
