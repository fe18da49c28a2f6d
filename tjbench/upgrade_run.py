"""`tjb upgrade-check`: two versions of TokenJam compared, and with `--run` the pairs measured that need it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from tjbench.ci import GateResult, run_gate
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel
from tjbench.compare.matrix import newest_per_key
from tjbench.config import Config, ModelSpec, Policy, Proof
from tjbench.errors import ExitCode, UsageError
from tjbench.progress import Progress
from tjbench.store.artifacts import Baseline, Loaded, load_path
from tjbench.upgrade_check import Pending, UpgradeCheck, compare_versions
from tjbench.versions import open_versions
from tjbench.workplace import RunOptions, Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeRequest:
    """What was asked: from which version (``None``: the stored artifacts', else the installed one) to which."""

    config: Config
    before: str | None
    after: str
    results: Path | None
    options: RunOptions
    run: bool = False


def check_upgrade(request: UpgradeRequest, place: Workplace) -> UpgradeCheck:
    """The check in environments of its own; no model is called."""
    with ExitStack() as scratch:
        versions = open_versions(place.environ, place.root, scratch)
        return compare_versions(request.config, _stored(request), request.before, request.after, versions)


def run_pending(check: UpgradeCheck, request: UpgradeRequest, place: Workplace, log: TextIO) -> tuple[GateResult, int]:
    """Measure exactly the pairs that need it, hold them against what is stored, and count the calls to providers: every
    asking, a judge's and a repeated one too."""
    loaded = _stored(request)
    chosen, _ = newest_per_key(loaded.artifacts.values())
    proofs = tuple(_proof(pending, request.config, chosen.get(pending.key)) for pending in check.needs_run)
    config = request.config.model_copy(update={"proof": proofs})
    keys = {pending.key for pending in check.needs_run}
    held = {name: artifact for name, artifact in loaded.artifacts.items() if artifact.key in keys}
    baseline = Baseline(
        label=BaselineLabel(ref=str(request.results)), loaded=Loaded(artifacts=held, rejected=loaded.rejected)
    )
    calls: list[ModelSpec] = []
    options = replace(request.options, called=calls.append)
    with place.opened(config, check.after, Progress(log), options) as run:
        return run_gate(run, baseline), len(calls)


def exit_code(check: UpgradeCheck, config: Config, result: GateResult | None) -> ExitCode:
    """That of the gate over what was run; else 1 where a recommendation moved and the policy says so."""
    if result is not None and result.decision.exit_code is not ExitCode.PASSED:
        return result.decision.exit_code
    moved = check.moved or check.withdrawn or any(pending.was for pending in check.needs_run)
    fires = Policy.RECOMMENDATION in config.gate.fail_on and moved
    return ExitCode.REGRESSION if fires else ExitCode.PASSED


def _stored(request: UpgradeRequest) -> Loaded:
    return load_path(request.results) if request.results else Loaded(artifacts={}, rejected={})


def _proof(pending: Pending, config: Config, stored: Artifact | None) -> Proof:
    """The row as the configuration has it, else as it was measured."""
    original = ModelSpec.parse(pending.key.original)
    row = {"suite": (pending.key.suite,), "original": (pending.key.original,)}
    for proof in config.proof:
        if proof.candidate is None and (pending.key.suite, original) in proof.combinations():
            return proof.model_copy(update=row)
    if stored is None:
        raise UsageError(f"no proof asks for {pending.key.suite}, {original}")
    sampling = stored.sampling
    return Proof(
        suite=(pending.key.suite,),
        original=(pending.key.original,),
        limit=stored.n_tasks if stored.n_tasks < stored.suite.n_available else None,
        samples=sampling.samples,
        temperature=sampling.temperature,
        max_tokens=sampling.max_tokens or Proof().max_tokens,
        seed=stored.seed,
    )
