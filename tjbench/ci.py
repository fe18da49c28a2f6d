"""The whole gate once: plan, measure, compare with the baseline, decide. It knows nothing of GitHub's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from os.path import normpath
from pathlib import Path

from tjbench.bench import BenchResult
from tjbench.compare.accepted import with_acceptances
from tjbench.compare.artifact import Artifact, RowKey
from tjbench.compare.confirm import Again, broken_tasks
from tjbench.compare.decision import BaselineLabel, Decision, Status
from tjbench.compare.early_stop import kept_whole
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import Matrix, build_matrix, version_order
from tjbench.compare.series import Series, build_series
from tjbench.config import Accept, Config, Policy
from tjbench.errors import ExitCode, IncompleteError, UsageError
from tjbench.measure import MeasureRun, measure, measure_again
from tjbench.merged import merge_shards, problems_of
from tjbench.reuse import stored_outcomes
from tjbench.row_plan import RowPlan
from tjbench.rows import Rows, rule_of
from tjbench.spending import Spending
from tjbench.store.artifacts import Baseline, Loaded
from tjbench.store.shelf import Shelf
from tjbench.suites import is_path
from tjbench.tokenjam import Snapshot

UNCONFIRMED = "confirm: the tasks that broke were not asked once more, for a run merged from shards calls no model"
LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The decision and the artifacts it rests on, by path."""

    decision: Decision
    artifacts: Mapping[Path, Artifact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What a run brought, and the artifacts that it wrote."""

    result: BenchResult
    written: Mapping[Path, Artifact]


def run_gate(run: MeasureRun, baseline: Baseline) -> GateResult:
    """Measure, compare with the baseline and decide."""
    if not run.rows.plans and not baseline.loaded.artifacts:
        raise UsageError(
            "there is nothing to measure",
            why="; ".join(run.rows.withdrawn.values()),
            fix="name a candidate: --candidate, or candidate in [[proof]]",
        )
    settings = run.config.run
    stored = stored_outcomes(
        baseline.loaded.artifacts, reuse=settings.reuse, max_age_days=settings.max_age_days, now=datetime.now(UTC)
    )
    result, written = measure(replace(run, stored=stored, whole=_kept_whole(run, baseline)))
    return _concluded(run.config, run.rows, run.snapshot, baseline, Measurement(result=result, written=written), run)


def _kept_whole(run: MeasureRun, baseline: Baseline) -> dict[RowKey, str]:
    """Rows that must not stop early, and why."""
    if baseline.label.declined:
        return {plan.row: "it is recorded, to be compared with" for plan in run.rows.plans}
    return kept_whole(baseline.loaded.artifacts.values(), run.snapshot.version)


def gate_merged(
    shards: Sequence[Path],
    out: Path,
    *,
    config: Config,
    rows: Rows,
    snapshot: Snapshot,
    baseline: Baseline,
    commit: str | None,
) -> GateResult:
    """The gate over shards that other machines measured, merged into ``out``; nothing is called.

    Raises ``IncompleteError`` where they are not all, or not of this configuration, commit and tokenjam.
    """
    merged = merge_shards(shards, out)
    artifacts = {artifact.key: artifact for artifact in merged.artifacts.values()}
    plans = {RowKey(plan.suite.name, str(plan.original), plan.slot): plan for plan in rows.plans}
    for key in sorted(plans.keys() | artifacts.keys()):
        if why := _foreign(artifacts.get(key), plans.get(key), snapshot, commit):
            raise IncompleteError(
                f"the shards of {key.suite}, {key.original} are not this run's: {why}",
                fix="measure and judge in one workflow run, with the same inputs and a tokenjam-version that stays",
            )
    problems = tuple(problem for artifact in artifacts.values() for problem in problems_of(artifact))
    result = BenchResult(
        measured=(),
        spending=Spending(spent_usd=merged.spent_usd),
        problems=problems,
        mock=any(artifact.mock for artifact in artifacts.values()),
    )
    found = _concluded(config, rows, snapshot, baseline, Measurement(result=result, written=merged.artifacts))
    notes = (*found.decision.notes, *(f"skipped {path.name}: {why}" for path, why in merged.skipped.items()))
    return replace(found, decision=found.decision.model_copy(update={"notes": notes}))


def _foreign(artifact: Artifact | None, plan: RowPlan | None, snapshot: Snapshot, commit: str | None) -> str:
    """Why a merged measurement is not what would be measured here; empty where it is."""
    if artifact is None:
        return "there are none"
    if plan is None:
        return "the configuration has no such row"
    asked = plan.sampling
    pairs = (
        ("commit", artifact.commit, commit),
        ("tokenjam", artifact.tokenjam_version, snapshot.version),
        ("candidate", artifact.candidate_model, str(plan.candidate)),
        ("prompts", artifact.suite.prompts_revision, plan.suite.prompts_revision),
        ("checks", artifact.suite.checks_revision, plan.suite.checks_revision),
        ("samples", artifact.sampling.samples, plan.samples),
        ("temperature", artifact.sampling.temperature, asked.temperature),
        ("max_tokens", artifact.sampling.max_tokens, asked.max_tokens),
        ("margin_pp", artifact.margin_pp, round(100 * plan.rule.margin, 6)),
        ("alpha", artifact.alpha, plan.rule.alpha),
    )
    return "; ".join(f"{name} {found}, here {wanted}" for name, found, wanted in pairs if found != wanted)


def _concluded(
    config: Config,
    rows: Rows,
    snapshot: Snapshot,
    baseline: Baseline,
    found: Measurement,
    run: MeasureRun | None = None,
) -> GateResult:
    """The decision; ``run`` can ask again, where the configuration wants that before failing."""
    result, written = found.result, found.written
    matrix = build_matrix(written.values(), baseline.loaded.artifacts.values(), rule_of(config), snapshot.version)
    matrix = _with_withdrawn(matrix, rows.withdrawn)
    policy = _policy(config, rows, matrix, snapshot.at.date())
    again = _asked_again(run, matrix, policy, result) if run and config.gate.confirm else None
    decision = judge(matrix, policy, rows, baseline, result, again)
    unasked = (UNCONFIRMED,) if run is None and config.gate.confirm and broken_tasks(matrix.rows, policy) else ()
    notes = (*decision.notes, *unasked, *superseded(matrix), *tokenjam_notes(snapshot))
    update = {"notes": notes, "tokenjam_version": snapshot.version}
    if baseline.label.declined:
        names = ", ".join(path.name for path in written)
        update |= {"recorded": tuple(str(path) for path in written)}
        if decision.status is Status.NO_BASELINE:
            update["reasons"] = (f"recorded {names}, compared with nothing, as asked",)
    return GateResult(decision=decision.model_copy(update=update), artifacts=written)


def unconcluded(error: IncompleteError, config: Config) -> GateResult:
    """The result of a run that an outage ended before anything could be concluded."""
    code = ExitCode.INCOMPLETE if Policy.INCOMPLETE in config.gate.fail_on else ExitCode.PASSED
    decision = Decision(status=Status.INCOMPLETE, exit_code=code, reasons=(str(error),))
    return GateResult(decision=decision, artifacts={})


def _asked_again(run: MeasureRun, matrix: Matrix, policy: GatePolicy, result: BenchResult) -> Again | None:
    """What the broken tasks bring when they are asked once more; ``None`` where no regression would fail the job."""
    wanted = broken_tasks(matrix.rows, policy)
    if not wanted:
        return None
    try:
        trials, second = measure_again(run, wanted, result.spending.charged_usd)
    except IncompleteError as error:
        return Again(trials={}, trouble=str(error))
    return Again(trials=trials, cost_usd=second.spending.spent_usd)


def _policy(config: Config, rows: Rows, matrix: Matrix, today: date) -> GatePolicy:
    policy = GatePolicy(
        fail_on=config.gate.fail_on, rule=rule_of(config), rows=dict(rows.policies), dropped=rows.dropped
    )
    return with_acceptances(policy, map(_by_row_name, config.accept), matrix.rows, today)


def judge(
    matrix: Matrix, policy: GatePolicy, rows: Rows, baseline: Baseline, result: BenchResult, again: Again | None = None
) -> Decision:
    """The decision with what only a run knows: what failed, what was spent, what was withdrawn."""
    shown = {row.key for row in matrix.rows}
    unmeasured = [
        f"incomplete: {key.suite}: {why}, and no baseline has one"
        for key, why in rows.withdrawn.items()
        if key not in shown and policy.of(key).required
    ]
    failures = [*unreadable(baseline.loaded), *unmeasured]
    decision = decide(matrix, policy, baseline=baseline.label, failures=failures, again=again)
    reasons, notes, code = decision.reasons, decision.notes, decision.exit_code
    if decision.status is Status.INCOMPLETE:
        reasons = (*reasons, *result.problems)
        code = ExitCode.USAGE if result.misconfigured else code
    else:
        notes = (*notes, *result.problems)
    notes = (*notes, *result.spending.lines())
    spent = round(result.spending.spent_usd + (again.cost_usd if again else 0.0), 6)
    return decision.model_copy(
        update={"reasons": reasons, "notes": notes, "exit_code": code, "cost_usd": spent, "mock": result.mock}
    )


def _by_row_name(accept: Accept) -> Accept:
    """A suite's path as rows spell it."""
    return accept.model_copy(update={"suite": normpath(accept.suite)}) if is_path(accept.suite) else accept


def unreadable(loaded: Loaded) -> list[str]:
    """A baseline file that cannot be read makes the run incomplete: what it held is unknown."""
    return [f"incomplete: the baseline's {name} is not an artifact: {why}" for name, why in loaded.rejected.items()]


def gate_stored(head: Loaded, baseline: Baseline, config: Config) -> Decision:
    """The decision over artifacts that lie on disk; bad head files are listed and skipped."""
    version = max((a.tokenjam_version for a in head.artifacts.values()), key=version_order, default=None)
    matrix = build_matrix(head.artifacts.values(), baseline.loaded.artifacts.values(), rule_of(config), version)
    policy = GatePolicy(fail_on=config.gate.fail_on, rule=rule_of(config))
    decision = decide(matrix, policy, baseline=baseline.label, failures=unreadable(baseline.loaded))
    notes = (*decision.notes, *skipped(head), *superseded(matrix))
    return decision.model_copy(update={"notes": notes})


def series_of(shelf: Shelf, config: Config, most: int | None = None) -> tuple[Series, Decision]:
    """Every step of every series, or the last ``most`` ones, and the decision over each series' last step alone."""
    series = build_series(list(shelf.labels.values()), rule_of(config), load=shelf.load, most=most)
    last = {row.key: row for row in series.rows}
    steps = tuple(row for row in last.values() if row.baseline is not None)
    policy = GatePolicy(fail_on=config.gate.fail_on, rule=rule_of(config))
    label = BaselineLabel(ref="the step before")
    decision = decide(Matrix(rows=steps), policy, baseline=label) if steps else _no_step(label)
    notes = (*decision.notes, *skipped(shelf), *superseded(series))
    return series.judged(decision.rows), decision.model_copy(update={"notes": notes})


def _no_step(label: BaselineLabel) -> Decision:
    reason = "no series has two measurements yet, so there is no step to judge"
    return Decision(status=Status.NO_BASELINE, exit_code=ExitCode.PASSED, reasons=(reason,), baseline=label)


def skipped(found: Loaded | Shelf) -> list[str]:
    """Files that are named like artifacts and are none."""
    return [f"skipped {name}: {why}" for name, why in found.rejected.items()]


def superseded(matrix: Matrix | Series) -> list[str]:
    """Artifacts that are not used: another of the same key stands in for them, they are too new, or test nothing."""
    names = [f"{a.key.suite} of tokenjam {a.tokenjam_version}, {a.created_at:%Y-%m-%d}" for a in matrix.superseded]
    listed = "; ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
    notes = [f"superseded and not used: {listed}"] if names else []
    if count := len(matrix.untested):
        what = "replay" if count == 1 else "replays"
        notes.append(f"not gated on: {count} {what} without --control, which tests nothing")
    return notes


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
