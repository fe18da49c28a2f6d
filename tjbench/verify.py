"""Every derived number of a stored artifact computed again from its tasks, and what does not come out as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from tjbench.compare.artifact import UNKNOWN, Artifact, Flag, counts_free_cache
from tjbench.compare.derived import Mismatch, flat, found, never_priced, rederived, same, unpriced
from tjbench.scoring.blame import suspect_scorer
from tjbench.suites.task import digest
from tjbench.tokenjam import claimed_saving_pct

_GUESSES = frozenset({"default", UNKNOWN})
_LEGACY_LACKS = {
    "dollars a task": "input tokens and rates were not kept",
    "scores": "answers were not kept, and checks were not named",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """``checked`` fields were computed again; ``unverifiable`` ones could not be, and why."""

    checked: int
    mismatches: tuple[Mismatch, ...]
    unverifiable: Mapping[str, str] = field(default_factory=dict)


def verify(artifact: Artifact) -> Verification:
    """Recompute an artifact of our format from its tasks, its rates and its verdict rule."""
    if missing := unpriced(artifact):
        return Verification(
            checked=1,
            mismatches=(Mismatch(field="rates", stored=sorted(artifact.rates), recomputed=missing),),
            unverifiable={"everything else": "without rates nothing follows"},
        )
    stored = artifact.model_dump(mode="json", by_alias=True)
    pairs = [
        (name, found(stored, name), value, 9)
        for name, value in flat("", _recomputed(artifact))
        if name not in _unverifiable(artifact)
    ]
    return _compared(pairs, _unverifiable(artifact))


def verify_legacy(data: Mapping[str, Any], artifact: Artifact) -> Verification:
    """Hold what a file of the older format says against its tasks, to the decimals that it was rounded to."""
    stats, tasks = artifact.stats, data["tasks"]
    rates = [100 * passed / max(1, artifact.n_tasks) for passed in (artifact.original_pass, artifact.candidate_pass)]
    costs = [float(data["original_cost_usd"]), float(data["candidate_cost_usd"])]
    expected: list[tuple[str, object, int]] = [
        ("original_pass", artifact.original_pass, 6),
        ("candidate_pass", artifact.candidate_pass, 6),
        ("original_pass_rate", rates[0] / 100, 4),
        ("candidate_pass_rate", rates[1] / 100, 4),
        ("accuracy_delta_pp", rates[1] - rates[0], 2),
        ("cost_delta_pct", 100 * (costs[1] / costs[0] - 1) if costs[0] else None, 2),
        ("original_output_tokens", sum(task["original_output_tokens"] for task in tasks), 0),
        ("candidate_output_tokens", sum(task["candidate_output_tokens"] for task in tasks), 0),
        ("output_token_inflation", artifact.output_token_inflation, 3),
        ("stats.original_ci_pp", stats.original_ci_pp, 2),
        ("stats.candidate_ci_pp", stats.candidate_ci_pp, 2),
    ]
    unverifiable = dict(_LEGACY_LACKS)
    for side in ("original", "candidate"):
        if all(f"{side}_cost_usd" in task for task in tasks):
            expected.append((f"{side}_cost_usd", fsum(task[f"{side}_cost_usd"] for task in tasks), 7))
        else:
            unverifiable[f"{side}_cost_usd"] = "the file states no dollars a task"
    if artifact.sampling.samples == 1:
        expected += [
            ("regressions", stats.mcnemar_b, 0),
            ("stats.mcnemar_b", stats.mcnemar_b, 0),
            ("stats.mcnemar_c", stats.mcnemar_c, 0),
            ("stats.mcnemar_p_value", stats.mcnemar_p_value, 4),
            ("stats.delta_ci_pp", stats.delta_ci_pp, 2),
        ]
    else:
        unverifiable["stats"] = "the older tool tested majority votes of several samples, which is not done here"
    said = found(data, "stats.verdict")
    unverifiable["stats.verdict"] = f"the older tool's rule said {said}; ours says {artifact.verdict}"
    present = [(name, found(data, name), value, digits) for name, value, digits in expected]
    return _compared([pair for pair in present if pair[1] is not None], unverifiable)


def _compared(pairs: Sequence[tuple[str, object, object, int]], unverifiable: Mapping[str, str]) -> Verification:
    """``pairs`` of a field's name, its stored and its recomputed value, and the decimals it is rounded to."""
    wrong = tuple(
        Mismatch(field=name, stored=stored, recomputed=value)
        for name, stored, value, digits in pairs
        if not same(stored, value, 0.51 * 10**-digits)
    )
    return Verification(checked=len(pairs), mismatches=wrong, unverifiable=unverifiable)


def _recomputed(artifact: Artifact) -> dict[str, object]:
    original, candidate, rates = artifact.original_model, artifact.candidate_model, artifact.rates
    sources = {rates[original].source, rates[candidate].source}
    claimed = None if sources & _GUESSES else claimed_saving_pct(rates[original], rates[candidate])
    return {
        **rederived(artifact),
        "claimed_saving_pct": None if claimed is None else round(claimed, 4),
        "priced_with_defaults": "default" in sources,
        "flags": [flag.value for flag in _flags(artifact, sources)],
        "suite.prompts_revision": digest([[task.task_id, task.prompt_hash] for task in artifact.tasks]),
        "suite.checks_revision": digest([[task.task_id, task.check_hash] for task in artifact.tasks]),
    }


def current_flags(artifact: Artifact) -> tuple[Flag, ...]:
    """The flags that its tasks, rates and judge call for."""
    rates = artifact.rates
    sources = {rates[artifact.original_model].source, rates[artifact.candidate_model].source}
    return tuple(_flags(artifact, sources))


def _flags(artifact: Artifact, sources: set[str]) -> list[Flag]:
    """As stored where they agree, so that only their set counts."""
    trials = [trial for task in artifact.tasks for trial in (task.original, task.candidate)]
    set_ = {
        Flag.MOCK: artifact.mock,
        Flag.DEFAULT_RATES: "default" in sources,
        Flag.UNKNOWN_CACHE_RATE: counts_free_cache(
            artifact.tasks, artifact.rates, artifact.original_model, artifact.candidate_model
        ),
        Flag.JUDGE_SCORED: artifact.judge is not None,
        Flag.OVERRIDES: "override" in sources,
        Flag.SUSPECT_SCORER: suspect_scorer(task.original for task in artifact.tasks)
        or suspect_scorer(task.candidate for task in artifact.tasks),
        Flag.REUSED: any(trial.reused_from for trial in trials),
        Flag.PROMPT_CHANGED: Flag.PROMPT_CHANGED in artifact.flags,
    }
    held = [flag for flag, is_set in set_.items() if is_set]
    return list(artifact.flags) if set(held) == set(artifact.flags) else held


def _unverifiable(artifact: Artifact) -> dict[str, str]:
    """Fields that nothing in the file bears out."""
    why = {}
    if artifact.suite.prompts_revision == UNKNOWN:
        why["suite.prompts_revision"] = "the prompts were not recorded"
    if artifact.suite.checks_revision == UNKNOWN:
        why["suite.checks_revision"] = "the checks were not recorded"
    if artifact.costs_stated:
        why["dollars a task"] = "as stated by the tool that measured"
    elif never_priced(artifact):
        why["dollars"] = "nothing was recorded that they could follow from"
    return why
