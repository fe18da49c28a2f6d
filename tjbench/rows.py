"""From the configuration to the rows to measure: suites loaded, candidates found, keys looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os.path import normpath
from typing import Literal

from tjbench.compare.artifact import RECOMMENDED, RowKey, ShardRecord
from tjbench.compare.gate import RowPolicy
from tjbench.compare.pair import Rule
from tjbench.config import Config, ModelSpec, Proof
from tjbench.errors import UsageError
from tjbench.models.mock import MockModel
from tjbench.models.model import Model, Sampling
from tjbench.models.providers import Gateways, missing_key, needed_key
from tjbench.row_plan import RowPlan
from tjbench.shard import Shard
from tjbench.suites import is_path
from tjbench.suites.task import JudgedCheck, Suite, Task
from tjbench.tokenjam import Snapshot

SuiteLoader = Callable[[str, str | None], Suite]
"""Loads a suite by name or path; the second argument is the file with its rows, for suites from a hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What will be measured and how each row is judged. ``withdrawn`` rows have no candidate: the reason is said;
    ``dropped`` ones stood in the base's configuration only."""

    plans: tuple[RowPlan, ...]
    policies: Mapping[RowKey, RowPolicy]
    withdrawn: Mapping[RowKey, str] = field(default_factory=dict)
    dropped: frozenset[RowKey] = frozenset()


def models_of(config: Config) -> list[ModelSpec]:
    """Every original, every pinned candidate and the judge, once, in order."""
    found: dict[ModelSpec, None] = {}
    for proof in config.proof:
        for _, original in proof.combinations():
            found[original] = None
        if proof.candidate:
            found[ModelSpec.parse(proof.candidate)] = None
    if config.judge.model:
        found[ModelSpec.parse(config.judge.model)] = None
    return list(found)


def judge_of(config: Config, plans: Iterable[RowPlan]) -> ModelSpec | None:
    """The model that grades; ``None`` where no task of ``plans`` is judged. Raises ``UsageError`` where one is and no
    judge is named."""
    judged = next((plan.suite for plan in plans if plan.suite.judged), None)
    if judged is None:
        return None
    if config.judge.model is None:
        raise UsageError(
            f"the suite {judged.name} needs a judge",
            why="it holds tasks whose answers another model grades, and none is named",
            fix="name one: --judge provider:model, input judge, or model in [judge] of tjbench.toml",
        )
    return ModelSpec.parse(config.judge.model)


def plan_rows(config: Config, snapshot: Snapshot, load_suite: SuiteLoader, shard: Shard | None = None) -> Rows:
    """Every row of every proof, or its part in ``shard``. A recommendation that TokenJam does not make leaves its row
    withdrawn.

    Raises ``UsageError`` where two rows, or two suites, would go by the same name.
    """
    suites: dict[str, Suite] = {}
    plans: list[RowPlan] = []
    policies: dict[RowKey, RowPolicy] = {}
    withdrawn: dict[RowKey, str] = {}
    for proof in config.proof:
        rule = rule_of(config, proof)
        for name, original in proof.combinations():
            whole = _with_threshold(load_suite(name, proof.data), config.judge.threshold)
            suite = _limited(whole, proof.limit)
            key = RowKey(suite.name, str(original), proof.candidate or RECOMMENDED)
            if suites.setdefault(suite.name, whole) != whole:
                raise UsageError(f"two suites go by the name {suite.name}", fix="rename one of the files")
            if key in policies:
                raise UsageError(f"suite {suite.name} with original {original} stands in two proofs", fix="remove one")
            policies[key] = RowPolicy(required=proof.required, fail_on=proof.fail_on, rule=rule)
            candidate = ModelSpec.parse(proof.candidate) if proof.candidate else snapshot.candidates.get(original)
            if candidate is None:
                withdrawn[key] = snapshot.why_none(original)
                continue
            plans.append(
                RowPlan(
                    suite=replace(suite, tasks=shard.of(suite.tasks)) if shard else suite,
                    original=original,
                    candidate=candidate,
                    slot=key.slot,
                    recommended_by=_recommender(proof, snapshot, candidate),
                    sampling=Sampling(max_tokens=proof.max_tokens, temperature=proof.temperature, seed=proof.seed),
                    samples=proof.samples,
                    rule=rule,
                    shard=_part(suite, shard) if shard else None,
                )
            )
    gone = _dropped(config)
    return Rows(plans=tuple(plans), policies={**policies, **gone}, withdrawn=withdrawn, dropped=frozenset(gone))


def _dropped(config: Config) -> dict[RowKey, RowPolicy]:
    """How the base judges the rows whose proofs the change removed; nothing of them is loaded."""
    return {
        RowKey(normpath(name) if is_path(name) else name, str(original), proof.candidate or RECOMMENDED): RowPolicy(
            required=proof.required, fail_on=proof.fail_on, rule=rule_of(config, proof)
        )
        for proof in config.dropped
        for name, original in proof.combinations()
    }


def rule_of(config: Config, proof: Proof | None = None) -> Rule:
    """The verdict rule of the gate, with the proof's own margin where it has one; percentages become proportions."""
    margin = proof.margin_pp if proof and proof.margin_pp is not None else config.gate.margin_pp
    return Rule(
        margin=margin / 100,
        alpha=config.gate.alpha,
        unscored_tolerance=config.gate.unscored_tolerance_pct / 100,
    )


def gateways_of(config: Config) -> Gateways:
    """``[providers]`` as the models take them."""
    return {name: (provider.base_url, provider.api_key_env) for name, provider in config.providers.items()}


def resolve_mock(
    mode: Literal["auto"] | bool,
    plans: tuple[RowPlan, ...],
    gateways: Gateways,
    environ: Mapping[str, str],
    *,
    silently: bool,
    judge: ModelSpec | None = None,
) -> bool:
    """Whether scripted models answer. ``auto`` is live when every needed key is there.

    Where none is there it is mock if ``silently`` (a local try-out, which says so), else an error, as it is when only
    some are: a gate never swaps a measurement for a script by itself. Raises ``UsageError``.
    """
    if mode is True:
        return True
    specs = dict.fromkeys(spec for plan in plans for spec in plan.asked)
    if judge is not None:
        specs[judge] = None
    needed = {spec: name for spec in specs if (name := needed_key(spec, gateways, environ))}
    missing = {spec: name for spec in needed if (name := missing_key(spec, gateways, environ))}
    if not missing:
        return False
    if mode == "auto" and silently and len(missing) == len(needed):
        return True
    names = ", ".join(dict.fromkeys(missing.values()))
    raise UsageError(
        f"missing key: {names}",
        why=f"{', '.join(map(str, missing))} {'is' if len(missing) == 1 else 'are'} asked live",
        fix=_how_to_set(missing.values(), environ),
    )


def _how_to_set(names: Iterable[str], environ: Mapping[str, str]) -> str:
    """In a workflow the step has to be handed each secret, which reads as empty where it is not defined."""
    named = list(dict.fromkeys(names))
    if environ.get("GITHUB_ACTIONS") != "true":
        return f"set {', '.join(named)} in the environment, or ask for scripted models with --mock (input mock: true)"
    lines = ", ".join(f"{name}: ${{{{ secrets.{name} }}}}" for name in named)
    return (
        f"add to the step, under env: {lines}; where that is there, the secret is not defined or empty "
        "(Settings, Secrets and variables, Actions). Scripted models need no key: input mock: true"
    )


def mock_opener(config: Config, seed: int | None) -> Callable[[ModelSpec, Suite], Model]:
    """Opens scripted models that answer what each suite has canned, at the configured accuracies."""

    def open_mock(spec: ModelSpec, suite: Suite) -> Model:
        canned = {task.id: (task.canned.right, task.canned.wrong) for task in suite.tasks if task.canned}
        if len(canned) < len(suite.tasks):
            lacking = next(task.id for task in suite.tasks if not task.canned)
            raise UsageError(
                f"suite {suite.name} cannot be mocked",
                why=f"task {lacking} has no canned answers",
                fix='give each task "canned": {"right": "...", "wrong": "..."}, or run with keys',
            )
        accuracy = config.mock.accuracy.get(str(spec), config.mock.default)
        return MockModel(spec, canned, accuracy=accuracy, seed=seed or 0)

    return open_mock


def _part(whole: Suite, shard: Shard) -> ShardRecord:
    return ShardRecord(
        index=shard.index,
        count=shard.count,
        n_tasks=len(whole.tasks),
        prompts_revision=whole.prompts_revision,
        checks_revision=whole.checks_revision,
    )


def _limited(suite: Suite, limit: int | None) -> Suite:
    return suite if limit is None else replace(suite, tasks=suite.tasks[:limit])


def _with_threshold(suite: Suite, threshold: float) -> Suite:
    """The suite with the configuration's threshold where a task has none: what decides a task is all in its check."""
    if not suite.judged:
        return suite
    return replace(suite, tasks=tuple(_decided(task, threshold) for task in suite.tasks))


def _decided(task: Task, threshold: float) -> Task:
    check = task.check
    if isinstance(check, JudgedCheck) and check.threshold is None:
        return replace(task, check=replace(check, threshold=threshold))
    return task


def _recommender(proof: Proof, snapshot: Snapshot, candidate: ModelSpec) -> str:
    if proof.candidate:
        return "pinned"
    rates = snapshot.rates.get(candidate)
    unpriced = " (which it cannot price)" if rates is None or rates.source == "default" else ""
    return f"tokenjam {snapshot.version} {snapshot.lookup}{unpriced}"
