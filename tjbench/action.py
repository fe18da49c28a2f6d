"""One CI run: event, configuration, baseline, gate, publish, exit code. `tjb ci` fed by `INPUT_*` and `GITHUB_*`."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from packaging.version import InvalidVersion, Version

from tjbench.base_policy import judged_by_base
from tjbench.ci import GateResult, gate_merged, run_gate, unconcluded
from tjbench.compare.decision import Decision, Status
from tjbench.config import Config, Policy, parse_config
from tjbench.errors import ExitCode, IncompleteError, TjbError, UsageError
from tjbench.github.actions import Commands, inputs, write_outputs
from tjbench.github.api import ApiRepository, ApiThread, Patience, connect
from tjbench.github.baseline import Repository
from tjbench.github.event import Event, require_trusted_head
from tjbench.measure import MeasureRun, measure
from tjbench.models.providers import missing_key
from tjbench.progress import Progress
from tjbench.publish import Publisher, ReportPlace, give_to_owner, refuse
from tjbench.rows import gateways_of, models_of, plan_rows
from tjbench.settings import overridden
from tjbench.shard import Shard
from tjbench.store.artifacts import Baseline
from tjbench.tokenjam import Snapshot
from tjbench.workplace import CONFIG_NAME, RunOptions, Workplace

INPUTS = {
    "config": "",
    "benchmarks": "",
    "original": "",
    "candidate": "",
    "limit": "",
    "samples": "",
    "tokenjam-version": "latest",
    "baseline": "auto",
    "baseline-dir": "",
    "fail-on": "",
    "alpha": "",
    "margin-pp": "",
    "max-cost-usd": "10",
    "allow-unpriced": "",
    "confirm": "",
    "reuse": "",
    "concurrency": "",
    "mock": "auto",
    "judge": "",
    "allow-overrides": "false",
    "comment": "auto",
    "comment-id": "",
    "mode": "auto",
    "shard": "",
    "merge": "",
    "report-file": "",
    "journal-dir": "",
    "results-dir": "results",
    "github-token": "",
}
"""Every input with its default; an empty default leaves the configuration's value."""

SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET")
FORK = "skipped: a pull request from a fork has no secrets, so no model can be asked"
AT_ANY_AGE = 36_500
"""Days: model answers do not depend on tokenjam, so a check of tokenjam alone takes them however old they are."""
MODES = ("auto", "gate", "record", "upgrade-check", "post-comment")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRun:
    """One run's inputs and surroundings. ``repository`` is the hosting API, or None to read the local clone."""

    event: Event
    given: Mapping[str, str]
    place: Workplace
    repository: Repository | None
    thread: ApiThread | None
    commands: Commands
    log: TextIO

    def value(self, name: str) -> str:
        """An input, else its default."""
        return self.given.get(name, INPUTS[name])

    def choice(self, name: str, *allowed: str) -> str:
        """An input with few values. Raises ``UsageError`` for any other."""
        value = self.value(name).lower()
        if value not in allowed:
            raise UsageError(f"input {name}: {value!r} is not one of {', '.join(allowed)}")
        return value


def open_action(environ: Mapping[str, str], root: Path, log: TextIO, patience: Patience | None = None) -> ActionRun:
    """Read event and inputs, and mask every secret before anything else is printed."""
    commands = Commands(log)
    given = inputs(environ)
    if environ.get("GITHUB_ACTIONS") == "true":  # anywhere else the command that hides a secret would show it
        for name, secret in environ.items():
            if secret and (name.endswith(SECRET_ENDINGS) or name.upper() == "INPUT_GITHUB-TOKEN"):
                commands.mask(secret)
    event = Event.from_environ(environ)
    token = given.get("github-token") or environ.get("GITHUB_TOKEN", "")
    client = connect(event.api_url, token, patience) if token and event.repository else None
    posting = given.get("mode", "").lower() == "post-comment"
    about = event.source.head if event.source and posting else event.pull_request
    thread = ApiThread(client=client, full_name=event.repository, pull_request=about) if client and about else None
    return ActionRun(
        event=event,
        given=given,
        place=Workplace(root=root, environ=environ, confined=True),
        repository=ApiRepository(client=client, full_name=event.repository) if client else None,
        thread=thread,
        commands=commands,
        log=log,
    )


def run_action(run: ActionRun) -> ExitCode:
    """The whole run; what it found is published before the exit code is decided on."""
    try:
        return _run(run)
    except TjbError as error:
        refuse(error, run.place.environ, run.commands, run.log)
        return error.exit_code


def _run(run: ActionRun) -> ExitCode:
    _refuse_unknown(run.given)
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
    for problem in result.problems:
        run.commands.annotation("warning", problem, title="TokenJam Bench")
    if target := run.place.environ.get("GITHUB_OUTPUT"):
        outputs = {"results-dir": run.value("results-dir"), "tokenjam-version": snapshot.version}
        write_outputs(Path(target), {**outputs, "cost-usd": f"{result.spent_usd:.6f}"})
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
        return run_gate(stack.enter_context(_opened(run, config, snapshot, stack)), baseline)


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


def read_config(run: ActionRun, *, record: bool = False) -> tuple[Config, list[str]]:
    """The workspace's configuration under the inputs, and under the base commit's policy where the event has a base: on
    a pull request and in a merge queue."""
    name = run.given.get("config")
    config = run.place.read_config(name)
    notes: list[str] = []
    if run.event.base_sha:
        base, unreadable = _base_config(run, name or CONFIG_NAME)
        config, changed = judged_by_base(config, base)
        notes += unreadable
        if changed:
            notes.append(f"this pull request's own {', '.join(changed)} will count once it is merged, not here")
    given = _given(run, config, record=record)
    rows_given = any(given[name] for name in ("benchmarks", "original", "candidate"))
    return overridden(config, given, "input ").with_dropped(() if rows_given else config.dropped), notes


def _given(run: ActionRun, config: Config, *, record: bool) -> dict[str, object]:
    """Inputs by the name of their configuration key. The cap is the input's unless the file sets its own."""
    mock = run.choice("mock", "auto", "true", "false")
    cap = run.given.get("max-cost-usd") or (INPUTS["max-cost-usd"] if config.run.max_cost_usd is None else None)
    names = ("reuse", "benchmarks", "original", "candidate", "limit", "samples", "alpha", "concurrency", "judge")
    given: dict[str, object] = {name: run.given.get(name) for name in names}
    given |= {"fail_on": run.given.get("fail-on"), "margin_pp": run.given.get("margin-pp"), "max_cost_usd": cap}
    if "allow-unpriced" in run.given:
        given["allow_unpriced"] = run.choice("allow-unpriced", "true", "false") == "true"
    if "mock" in run.given:
        given["mock"] = {"true": True, "false": False}.get(mock, mock)
    if "confirm" in run.given:
        given["confirm"] = run.choice("confirm", "true", "false") == "true"
    if run.value("mode") == "upgrade-check":
        given["reuse"] = "all"
    if record:
        given["fail_on"] = str(Policy.INCOMPLETE)
    return given


def _base_config(run: ActionRun, name: str) -> tuple[Config, list[str]]:
    """The configuration at the pull request's base commit. Where it has none, or a broken one, which a pull request
    must be able to mend, it is the embedded default; the latter is said."""
    sha = run.event.base_sha
    assert sha is not None
    content = run.repository.file(sha, name) if run.repository else run.place.checkout.file(sha, name)
    if content is None:
        return Config(), []
    try:
        return parse_config(content.decode("utf-8"), f"{name} at {sha[:12]}"), []
    except (UsageError, UnicodeDecodeError) as error:
        what = error.what if isinstance(error, UsageError) else f"{name} at {sha[:12]} is not UTF-8"
        return Config(), [f"the default policy holds, for the base commit's cannot be read: {what}"]


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


def _refuse_unknown(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in INPUTS:
            close = difflib.get_close_matches(name, INPUTS, n=1)
            raise UsageError(
                f"there is no input {name!r}",
                why=f"the inputs are {', '.join(INPUTS)}",
                fix=f"did you mean {close[0]!r}?" if close else "remove it",
            )
