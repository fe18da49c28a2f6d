"""When the gate fails, and what single rows ask for differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tjbench.compare.artifact import RowKey
from tjbench.compare.pair import Rule
from tjbench.config import DEFAULT_FAIL_ON, Accept, Policy

EXCUSED = frozenset({Policy.REGRESSION, Policy.DOWNSIZE})
"""Policies that an accepted row does not fire: what the candidate does worse is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """A proof's own policy. Without a result a ``required`` row makes the run incomplete; any other is advisory:
    shown, never failing. ``fail_on`` and ``rule`` replace the gate's for this row."""

    required: bool = True
    fail_on: tuple[Policy, ...] | None = None
    rule: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy:
    """When to fail, by which rule, and what single rows ask for differently. ``dropped`` rows stood in the base's
    configuration and were removed by the change. The regression of ``accepted`` rows is known; ``expired`` ones' was,
    and ``unmatched`` acceptances are about no row."""

    fail_on: tuple[Policy, ...] = DEFAULT_FAIL_ON
    rule: Rule = field(default_factory=Rule)
    rows: dict[RowKey, RowPolicy] = field(default_factory=dict)
    dropped: frozenset[RowKey] = frozenset()
    accepted: Mapping[RowKey, Accept] = field(default_factory=dict)
    expired: Mapping[RowKey, Accept] = field(default_factory=dict)
    unmatched: tuple[Accept, ...] = ()

    def of(self, key: RowKey) -> RowPolicy:
        """A row's own policy."""
        return self.rows.get(key, RowPolicy())

    def rule_of(self, key: RowKey) -> Rule:
        """The rule by which a row is judged."""
        return self.of(key).rule or self.rule

    def fails_on(self, key: RowKey, policy: Policy) -> bool:
        """Whether ``policy`` may fail the job because of this row."""
        return self.asks(key, policy) and self.excuse(key, policy) is None

    def excuse(self, key: RowKey, policy: Policy) -> Accept | None:
        """What accepts of this row that which ``policy`` is about."""
        return self.accepted.get(key) if policy in EXCUSED else None

    def asks(self, key: RowKey, policy: Policy) -> bool:
        """Whether ``policy`` is enabled for this row, were nothing of it accepted."""
        row = self.of(key)
        enabled = self.fail_on if row.fail_on is None else row.fail_on
        return row.required and policy in enabled
