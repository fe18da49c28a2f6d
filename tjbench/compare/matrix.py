"""Measurements side by side: head against baseline, paired by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from packaging.version import InvalidVersion, Version

from tjbench.compare.artifact import Artifact, RowKey, TaskRecord
from tjbench.compare.pair import Change, Pair, Rule, measure_change

COVERAGE_FLOOR = 0.8


class Standing(StrEnum):
    """How a row can be held against its baseline, before any test."""

    COMPARABLE = "comparable"
    NOT_COMPARABLE = "not_comparable"
    NOT_RE_MEASURED = "not_re_measured"
    NO_BASELINE = "no_baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Which tasks of the head and of the baseline pair up: same id and same check. Tuples hold task ids.

    ``reused`` tasks would pair up, but their candidate's outcome comes from a stored artifact and proves nothing anew.
    """

    candidate: tuple[Pair, ...] = ()
    original: tuple[Pair, ...] = ()
    reused: tuple[str, ...] = ()
    prompt_changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rechecked: tuple[str, ...] = ()

    @property
    def unscored(self) -> int:
        """Paired tasks that leave the test because one side is unscored."""
        return sum(not pair.scored for pair in self.candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One key with what was measured now (``head``) and what it is held against (``baseline``). A ``withdrawn`` row has
    no head because nothing is recommended any more."""

    key: RowKey
    head: Artifact | None
    baseline: Artifact | None
    standing: Standing
    why: str
    overlap: Overlap
    change: Change | None
    original_change: Change | None
    withdrawn: bool = False

    @property
    def coverage(self) -> float:
        """Share of the baseline's tasks that the head holds too, measured again or reused; all where the head stopped
        early and nobody knows."""
        if self.baseline is None or not self.baseline.tasks or (self.head and self.head.stopped):
            return 1.0
        return (len(self.overlap.candidate) + len(self.overlap.reused)) / len(self.baseline.tasks)

    @property
    def repointed(self) -> tuple[str, str] | None:
        """Baseline's and head's candidate where the recommendation changed."""
        if self.head is None or self.baseline is None:
            return None
        before, after = self.baseline.candidate_model, self.head.candidate_model
        return None if before == after else (before, after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All rows in key order, and artifacts that a newer one stands in for. ``untested`` are replays without a control,
    which are no rows."""

    rows: tuple[Row, ...]
    superseded: tuple[Listed, ...] = ()
    untested: tuple[Listed, ...] = ()


class Listed(Protocol):
    """An artifact, or its label as long as it is not read."""

    @property
    def key(self) -> RowKey: ...
    @property
    def tokenjam_version(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def incomplete(self) -> bool: ...
    @property
    def uncontrolled(self) -> bool: ...


def version_order(text: str) -> tuple[int, Version | str]:
    """Sort key of a tokenjam version: PEP 440, with what does not parse before everything that does."""
    try:
        return (1, Version(text))
    except InvalidVersion:
        return (0, text)


def newest_per_key(
    artifacts: Iterable[Artifact], not_above: str | None = None
) -> tuple[dict[RowKey, Artifact], tuple[Artifact, ...]]:
    """Per key the newest complete artifact whose tokenjam version is not above ``not_above``; and all others.

    A key without any complete artifact keeps its newest incomplete one, which the gate then treats as incomplete;
    nothing is tested against an incomplete baseline. A replay without a control is no measurement to choose.
    """
    groups: dict[RowKey, list[Artifact]] = defaultdict(list)
    for artifact in artifacts:
        if not artifact.uncontrolled:
            groups[artifact.key].append(artifact)
    chosen: dict[RowKey, Artifact] = {}
    for key, group in groups.items():
        allowed = [
            a for a in group if not_above is None or version_order(a.tokenjam_version) <= version_order(not_above)
        ]
        ranked = sorted(allowed, key=lambda a: (not a.incomplete, version_order(a.tokenjam_version), a.created_at))
        if ranked:
            chosen[key] = ranked[-1]
    kept = {id(artifact) for artifact in chosen.values()}
    rest = tuple(a for group in groups.values() for a in group if id(a) not in kept)
    return chosen, rest


def build_matrix(
    head: Iterable[Artifact], baseline: Iterable[Artifact], rule: Rule, version: str | None = None
) -> Matrix:
    """Head against baseline. ``version`` is the selected tokenjam version: newer baselines are not looked at."""
    head, baseline = tuple(head), tuple(baseline)
    heads, superseded_heads = newest_per_key(head)
    bases, superseded_bases = newest_per_key(baseline, version)
    keys = sorted(heads.keys() | bases.keys())
    rows = (build_row(key, heads.get(key), bases.get(key), rule) for key in keys)
    newer = {a.key: a.tokenjam_version for a in superseded_bases if a.key not in bases}
    return Matrix(
        rows=tuple(
            replace(row, why=f"the baseline is of tokenjam {newer[row.key]}, newer than this run's {version}")
            if row.key in newer
            else row
            for row in rows
        ),
        superseded=superseded_heads + superseded_bases,
        untested=tuple(artifact for artifact in (*head, *baseline) if artifact.uncontrolled),
    )


def build_row(key: RowKey, head: Artifact | None, baseline: Artifact | None, rule: Rule) -> Row:
    """Pair one key's measurements; what cannot be compared says why."""
    if head is None or baseline is None:
        standing = Standing.NOT_RE_MEASURED if head is None else Standing.NO_BASELINE
        return _untested(key, head, baseline, standing, "")
    overlap = find_overlap(head, baseline)
    obstacle = incomparable(head, baseline)
    if obstacle:
        return _untested(key, head, baseline, Standing.NOT_COMPARABLE, obstacle, overlap)
    if overlap.reused and not overlap.candidate:
        why = "every outcome is reused from a stored artifact"
        return _untested(key, head, baseline, Standing.NOT_RE_MEASURED, why, overlap)
    if not overlap.candidate:
        why = "no task has the same id and the same check"
        return _untested(key, head, baseline, Standing.NOT_COMPARABLE, why, overlap)
    return Row(
        key=key,
        head=head,
        baseline=baseline,
        standing=Standing.COMPARABLE,
        why="",
        overlap=overlap,
        change=measure_change(overlap.candidate, rule),
        original_change=measure_change(overlap.original, rule),
    )


def _untested(
    key: RowKey,
    head: Artifact | None,
    baseline: Artifact | None,
    standing: Standing,
    why: str,
    overlap: Overlap | None = None,
) -> Row:
    return Row(
        key=key,
        head=head,
        baseline=baseline,
        standing=standing,
        why=why,
        overlap=overlap or Overlap(),
        change=None,
        original_change=None,
    )


def incomparable(head: Artifact, baseline: Artifact) -> str:
    """Why the two must not be tested against each other; empty when they may."""
    if baseline.incomplete:
        unscored = f"{baseline.n_unscored} of {baseline.n_tasks} tasks unscored"
        return f"the baseline is incomplete: {unscored if baseline.n_tasks else 'it holds no task'}"
    for name, artifact in (("this run", head), ("the baseline", baseline)):
        if artifact.stopped:
            return f"{name} stopped early, so it is no sample of a fixed size"
    differences = (
        ("scorer version", baseline.scorer_version, head.scorer_version),
        ("run", "mock" if baseline.mock else "live", "mock" if head.mock else "live"),
        ("samples per task", baseline.sampling.samples, head.sampling.samples),
        ("temperature", baseline.sampling.temperature, head.sampling.temperature),
        ("max_tokens", baseline.sampling.max_tokens, head.sampling.max_tokens),
        ("judge", baseline.judge, head.judge),
    )
    return "; ".join(f"{name} differs: {before} → {after}" for name, before, after in differences if before != after)


def find_overlap(head: Artifact, baseline: Artifact) -> Overlap:
    """Tasks with the same id and check pair up; a changed prompt is compared and listed; the rest is left out."""
    now, then = _by_id(head), _by_id(baseline)
    shared = [task_id for task_id in now if task_id in then]
    same = [task_id for task_id in shared if now[task_id].check_hash == then[task_id].check_hash]
    anew = [task_id for task_id in same if not now[task_id].candidate.is_reused]
    return Overlap(
        candidate=tuple(Pair(task_id=i, before=then[i].candidate, after=now[i].candidate) for i in anew),
        original=tuple(
            Pair(task_id=i, before=then[i].original, after=now[i].original)
            for i in same
            if not now[i].original.is_reused
        ),
        reused=tuple(i for i in same if now[i].candidate.is_reused),
        prompt_changed=tuple(i for i in same if now[i].prompt_hash != then[i].prompt_hash),
        added=() if baseline.stopped else tuple(i for i in now if i not in then),
        removed=() if head.stopped else tuple(i for i in then if i not in now),
        rechecked=tuple(i for i in shared if now[i].check_hash != then[i].check_hash),
    )


def _by_id(artifact: Artifact) -> dict[str, TaskRecord]:
    return {task.task_id: task for task in artifact.tasks}
