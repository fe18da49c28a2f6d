"""One CI run: event, configuration, baseline, gate, publish, exit code. `tjb ci` fed by `INPUT_*` and `GITHUB_*`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tjbench.action_inputs import MODES, ActionRun, read_config, refuse_unknown
from tjbench.ci import GateResult, gate_merged, run_gate, unconcluded
from tjbench.compare.decision import Decision, Status
from tjbench.config import Config
from tjbench.errors import ExitCode, IncompleteError, TjbError, UsageError
from tjbench.github.actions import write_outputs
from tjbench.github.event import require_trusted_head
from tjbench.measure import MeasureRun, measure
from tjbench.models.providers import missing_key
from tjbench.progress import Progress
from tjbench.publish import Publisher, ReportPlace, give_to_owner, refuse
from tjbench.rows import gateways_of, models_of, plan_rows
from tjbench.shard import Shard
from tjbench.store.artifacts import Baseline
from tjbench.tokenjam import Snapshot
from tjbench.upgrade_check import compare_versions
from tjbench.upgrade_lines import summary
from tjbench.versions import open_versions
from tjbench.workplace import RunOptions

FORK = "skipped: a pull request from a fork has no secrets, so no model can be asked"
AT_ANY_AGE = 36_500
"""Days: model answers do not depend on tokenjam, so a check of tokenjam alone takes them however old they are."""


def run_action(run: ActionRun) -> ExitCode:
    """The whole run; what it found is published before the exit code is decided on."""
    try:
        return _run(run)
    except TjbError as error:
        refuse(error, run.place.environ, run.commands, run.log)
        return error.exit_code


def _run(run: ActionRun) -> ExitCode:
    refuse_unknown(run.given)
    mode = run.choice("mode", *MODES)
    publisher = Publisher(
        event=run.event.followed if mode == "post-comment" else run.event,
        environ=run.place.environ,
        commands=run.commands,
        place=_report_place(run),
        thread=run.thread if run.choice("comment", "auto", "off") == "auto" else None,
        comment_id=run.value("comment-id") or run.event.gate_id,
    )
    if mode == "post-comment":
        return publisher.post_stored()
    if "shard" in run.given:
        return _measure_shard(run, Shard.parse(run.given["shard"], "input "))
    publisher.require_places()
    result = _gate(run, record=mode == "record")
    publisher.publish(result)
    return result.decision.exit_code


def _gate(run: ActionRun, *, record: bool) -> GateResult:
    """The gate's result, also where an outage leaves nothing to conclude."""
    warning = run.place.environ.get("TJBENCH_UPGRADE_WARNING")
    notes = [warning] if warning else []
    config = Config()
    try:
        config, put_back = read_config(run, record=record)
        if run.value("mode") == "upgrade-check":
            config = config.model_copy(update={"run": config.run.model_copy(update={"max_age_days": AT_ANY_AGE})})
            notes.append("upgrade-check: a row whose recommendation is unchanged keeps the baseline's outcomes, for $0")
        notes += put_back
        if failure := run.place.environ.get("TJBENCH_UPGRADE_FAILURE"):
            raise IncompleteError(failure)
        result = _measured(run, config, record=record)
    except IncompleteError as error:
        result = unconcluded(error, config)
    decision = result.decision
    decision = decision.model_copy(update={"notes": (*notes, *decision.notes)})
    return GateResult(decision=decision, artifacts=result.artifacts)


def _measure_shard(run: ActionRun, shard: Shard) -> ExitCode:
    """A part of the run, for a later job that merges and judges: artifacts, and no decision."""
    if "merge" in run.given:
        raise UsageError("inputs shard and merge exclude each other", why="one job measures, a later one judges")
    config, _ = read_config(run)
    if failure := run.place.environ.get("TJBENCH_UPGRADE_FAILURE"):
        raise IncompleteError(failure)
    if _is_forks(run, config):
        run.commands.print(FORK)
        return ExitCode.PASSED
    _require_trusted_head(run)
    snapshot = _snapshot(run, config)
    with ExitStack() as stack:
        measurement = stack.enter_context(_opened(run, config, snapshot, stack, shard))
        result, written = measure(measurement)
    give_to_owner(list(written), run.place.root)
    for path, artifact in written.items():
        run.commands.print(f"shard {shard}: {artifact.n_tasks} tasks of {artifact.suite.name}: {path.name}")
    for line in result.spending.lines():
        run.commands.print(line)
    for problem in result.problems:
        run.commands.annotation("warning", problem, title="TokenJam Bench")
    if target := run.place.environ.get("GITHUB_OUTPUT"):
        outputs = {"results-dir": run.value("results-dir"), "tokenjam-version": snapshot.version}
        write_outputs(Path(target), {**outputs, "cost-usd": f"{result.spending.spent_usd:.6f}"})
    return ExitCode.USAGE if result.misconfigured else ExitCode.PASSED


def _merged(run: ActionRun, config: Config, snapshot: Snapshot, baseline: Baseline) -> GateResult:
    """The gate over the shards of earlier jobs, which a pull request must not have brought itself."""
    shards = run.place.inside(run.given["merge"])
    if brought := run.place.checkout.brings(shards):
        raise UsageError(
            f"merge {run.given['merge']} {brought}",
            why="a pull request could bring its own results",
            fix="name a directory that actions/download-artifact fills and git ignores",
        )
    return gate_merged(
        [shards],
        run.place.inside(run.value("results-dir")),
        config=config,
        rows=plan_rows(config, snapshot, run.place.suite_loader()),
        snapshot=snapshot,
        baseline=baseline,
        commit=_commit(run),
    )


def _is_forks(run: ActionRun, config: Config) -> bool:
    return run.event.is_fork and run.event.name == "pull_request" and _lacks_keys(config, run.place.environ)


def _require_trusted_head(run: ActionRun) -> None:
    keys = any(name.endswith("_API_KEY") and value for name, value in run.place.environ.items())
    require_trusted_head(run.event, run.place.commit(), keys_present=keys)


def _snapshot(run: ActionRun, config: Config) -> Snapshot:
    """What tokenjam says, which must be of the version that is asked for."""
    trusted = run.choice("allow-overrides", "true", "false") == "true"
    snapshot = run.place.snapshot(config, trust_overrides=trusted)
    run.commands.print(f"tokenjam {snapshot.version}, asked by {snapshot.lookup}")
    _require_version(run.value("tokenjam-version"), snapshot.version)
    return snapshot


def _opened(
    run: ActionRun, config: Config, snapshot: Snapshot, stack: ExitStack, shard: Shard | None = None
) -> AbstractContextManager[MeasureRun]:
    options = RunOptions(
        out=run.place.inside(run.value("results-dir")),
        journal=_journal(run, stack),
        commit=_commit(run),
        shard=shard,
    )
    return run.place.opened(config, snapshot, Progress(run.commands.stream()), options)


def _measured(run: ActionRun, config: Config, *, record: bool) -> GateResult:
    if _is_forks(run, config):
        decision = Decision(status=Status.SKIPPED, exit_code=ExitCode.PASSED, reasons=(FORK,))
        return GateResult(decision=decision, artifacts={})
    _require_trusted_head(run)
    baseline = _baseline(run, config, record=record)
    label = baseline.label
    run.commands.print(f"baseline: {label.ref or 'none'}{f' at {label.sha}' if label.sha else ''}")
    snapshot = _snapshot(run, config)
    if "merge" in run.given:
        return _merged(run, config, snapshot, baseline)
    with ExitStack() as stack:
        result = run_gate(stack.enter_context(_opened(run, config, snapshot, stack)), baseline)
    if run.value("mode") != "upgrade-check":
        return result
    upgrade = _what_changed(run, config, baseline, snapshot)
    return replace(result, decision=result.decision.model_copy(update={"upgrade": upgrade}))


def _what_changed(run: ActionRun, config: Config, baseline: Baseline, snapshot: Snapshot) -> tuple[str, ...]:
    """What `tjb upgrade-check` says of the baseline's tokenjam and this one; calls no model."""
    if not baseline.loaded.artifacts:
        return ()
    try:
        with ExitStack() as scratch:
            versions = open_versions(run.place.environ, run.place.root, scratch)
            check = compare_versions(config, baseline.loaded, None, "installed", versions)
    except TjbError as error:
        said = f"tokenjam {snapshot.version} was not held against the baseline's: {error.what}"
        return (said, error.why) if error.why else (said,)
    if check.before.version == check.after.version:
        return (f"tokenjam {snapshot.version} is the baseline's: its recommendations and prices are the same",)
    return tuple(line.strip() for line in summary(check))


def _require_version(wanted: str, found: str) -> None:
    """The container brings tokenjam to the wanted version; elsewhere it is what is installed, and must be that."""
    try:
        differs = Version(wanted) != Version(found)
    except InvalidVersion:
        return
    if differs:
        raise UsageError(
            f"tokenjam {wanted} is asked for, and {found} is installed",
            why="only the action's container installs another version",
            fix=f"pip install tokenjam=={wanted}, or set tokenjam-version: installed",
        )


def _commit(run: ActionRun) -> str | None:
    """The commit that is measured: of a pull request its head, not the merge that GitHub makes for the run alone."""
    checked_out = run.place.commit()
    is_merge = run.event.name == "pull_request" and checked_out == run.event.sha
    return run.event.head_sha if is_merge else checked_out


def _baseline(run: ActionRun, config: Config, *, record: bool) -> Baseline:
    return run.place.baseline(
        "none" if record else run.value("baseline"),
        repository=run.repository,
        directory=run.given.get("baseline-dir") or config.baseline.dir,
        branches=config.baseline.branches,
        base_ref=run.event.base_ref,
        push_ref=run.event.push_ref,
    )


def _lacks_keys(config: Config, environ: Mapping[str, str]) -> bool:
    if config.run.mock is True:
        return False
    gateways = gateways_of(config)
    return any(missing_key(spec, gateways, environ) for spec in models_of(config))


def _journal(run: ActionRun, stack: ExitStack) -> Path:
    """Answers are kept outside the workspace, where a pull request cannot have put any."""
    named = run.given.get("journal-dir")
    if named is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tjbench-journal-")))
    if brought := run.place.checkout.brings(Path(named)):
        raise UsageError(
            f"journal-dir {named} {brought}",
            why="a pull request could bring its own answers",
            fix="name a plain directory that actions/cache restores and git ignores",
        )
    directory = (run.place.root / named).resolve()
    stack.callback(lambda: give_to_owner(list(directory.glob("*")), run.place.root))
    return directory


def _report_place(run: ActionRun) -> ReportPlace:
    named = run.given.get("report-file")
    return ReportPlace(
        root=run.place.root,
        directory=run.place.inside(run.value("results-dir")),
        json=run.place.inside(named) if named else None,
    )
