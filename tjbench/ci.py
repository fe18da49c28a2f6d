"""The whole gate once: plan, measure, compare with the baseline, decide. It knows nothing of GitHub's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tjbench.bench import Bench, BenchResult, ModelOpener, Settings, Watcher
from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.decision import BaselineLabel, Decision, Status
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import Matrix, build_matrix
from tjbench.config import Config
from tjbench.errors import UsageError
from tjbench.rows import Rows, SuiteLoader, gateways_of, mock_opener, plan_rows, resolve_mock, rule_of
from tjbench.store.artifacts import Loaded, write_artifact
from tjbench.tokenjam import Snapshot

LiveOpener = Callable[[Config], ModelOpener]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What to compare with: where it is from, its artifacts by file name, and files that could not be read."""

    label: BaselineLabel
    loaded: Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """One run's collaborators: everything that touches the world outside is passed in."""

    config: Config
    snapshot: Snapshot
    baseline: Baseline
    load_suite: SuiteLoader
    open_live: LiveOpener
    environ: Mapping[str, str]
    out: Path
    watch: Watcher
    warn: Callable[[str], None]
    commit: str | None
    silent_mock: bool = False
    allow_unsandboxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The decision and the artifacts it rests on, by path."""

    decision: Decision
    artifacts: Mapping[Path, Artifact]
    result: BenchResult | None


def measure(run: GateRun) -> tuple[Rows, BenchResult, dict[Path, Artifact]]:
    """Plan and measure, and keep every artifact before anything is judged."""
    rows = plan_rows(run.config, run.snapshot, run.load_suite)
    if not rows.plans and not run.baseline.loaded.artifacts:
        raise UsageError(
            "there is nothing to measure",
            why="; ".join(rows.withdrawn.values()),
            fix="name a candidate: --candidate, or candidate in [[proof]]",
        )
    mock = resolve_mock(run.config.run.mock, rows.plans, gateways_of(run.config), run.environ, silently=run.silent_mock)
    seed = next((proof.seed for proof in run.config.proof if proof.seed is not None), None)
    bench = Bench(
        snapshot=run.snapshot,
        open_model=mock_opener(run.config, seed) if mock else run.open_live(run.config),
        settings=Settings(
            concurrency=run.config.run.concurrency,
            max_cost_usd=run.config.run.max_cost_usd,
            mock=mock,
            seed=seed,
            commit=run.commit,
            allow_unsandboxed=run.allow_unsandboxed,
        ),
        watch=run.watch,
        warn=run.warn,
    )
    result = bench.run(rows.plans)
    written = {write_artifact(measured.artifact, run.out): measured.artifact for measured in result.measured}
    return rows, result, written


def run_gate(run: GateRun) -> GateResult:
    """Measure, compare with the baseline and decide."""
    rows, result, written = measure(run)
    matrix = build_matrix(
        written.values(), run.baseline.loaded.artifacts.values(), rule_of(run.config), run.snapshot.version
    )
    decision = judge(matrix, run.config, rows, run.baseline, result)
    notes = (*decision.notes, *tokenjam_notes(run.snapshot))
    return GateResult(decision=decision.model_copy(update={"notes": notes}), artifacts=written, result=result)


def judge(matrix: Matrix, config: Config, rows: Rows, baseline: Baseline, result: BenchResult) -> Decision:
    """The decision with what only a run knows: what failed, what was spent, what was withdrawn."""
    matrix = _with_withdrawn(matrix, rows.withdrawn)
    policy = GatePolicy(fail_on=config.gate.fail_on, rule=rule_of(config), rows=dict(rows.policies))
    shown = {row.key for row in matrix.rows}
    unmeasured = [
        f"incomplete: {key.suite}: {why}, and no baseline has one"
        for key, why in rows.withdrawn.items()
        if key not in shown and policy.of(key).required
    ]
    failures = [*unreadable(baseline.loaded), *unmeasured]
    decision = decide(matrix, policy, baseline=baseline.label, failures=failures)
    reasons, notes = decision.reasons, decision.notes
    if decision.status is Status.INCOMPLETE:
        reasons = (*reasons, *result.problems)
    else:
        notes = (*notes, *result.problems)
    return decision.model_copy(
        update={"reasons": reasons, "notes": notes, "cost_usd": round(result.spent_usd, 6), "mock": result.mock}
    )


def unreadable(loaded: Loaded) -> list[str]:
    """A baseline file that cannot be read makes the run incomplete: what it held is unknown."""
    return [f"incomplete: the baseline's {name} is not an artifact: {why}" for name, why in loaded.rejected.items()]


def tokenjam_notes(snapshot: Snapshot) -> tuple[str, ...]:
    """Price files in force, and those that were found and not applied."""
    notes = []
    if snapshot.overrides:
        notes.append(f"prices are overridden by {', '.join(snapshot.overrides)}")
    if snapshot.ignored_overrides:
        notes.append(f"price overrides found and not applied: {', '.join(snapshot.ignored_overrides)}")
    return tuple(notes)


def _with_withdrawn(matrix: Matrix, withdrawn: Mapping[RowKey, str]) -> Matrix:
    rows = tuple(
        replace(row, why=withdrawn[row.key], withdrawn=True) if row.head is None and row.key in withdrawn else row
        for row in matrix.rows
    )
    return replace(matrix, rows=rows)
