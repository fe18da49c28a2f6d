"""The artifacts of tokenjam-bench 0.1, read as ours: what they lack is said, not made up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tjbench.compare.artifact import (
    UNKNOWN,
    Artifact,
    Flag,
    SamplingRecord,
    SuiteRecord,
    TaskRecord,
    derive,
)
from tjbench.compare.pair import Rule
from tjbench.pricing import Rates

SCORER = "tokenjam-bench/0.1"


def is_legacy(data: Mapping[str, Any]) -> bool:
    """The older format has no ``schema`` and names its suite ``benchmark``."""
    return "schema" not in data and "benchmark" in data


def read_legacy(data: Mapping[str, Any]) -> Artifact:
    """Outcomes, costs and output tokens carry over and the verdict is computed by our rule.

    Input tokens and rates were not kept, so costs are as the file states them and cannot be repriced; prompts and
    checks were not named, so its tasks pair only with tasks of the same format. Raises ``KeyError``, ``TypeError`` or
    ``ValueError`` where the file is not what it claims.
    """
    created = datetime.fromtimestamp(float(data["created_at"]), UTC)
    original, candidate = str(data["original_model"]), str(data["candidate_model"])
    records = tuple(_task(task) for task in data["tasks"])
    samples = {r.original.samples for r in records}
    if len(samples) != 1:
        raise ValueError("tasks hold different numbers of samples")
    if int(data["n_tasks"]) != len(records):
        raise ValueError(f"n_tasks is {data['n_tasks']}, the file holds {len(records)}")
    unpriced = Rates(input=0, output=0, cache_read=0, cache_write=0, source=UNKNOWN, at=created)
    rates = {original: unpriced, candidate: unpriced}
    pinned = "override" in str(data["recommended_by"])
    flags = [Flag.MOCK] if data["mock"] else []
    flags += [Flag.DEFAULT_RATES] if data["priced_with_defaults"] else []
    derived = derive(records, rates, original, candidate, Rule())
    derived |= {
        "original_cost_usd": float(data["original_cost_usd"]),
        "candidate_cost_usd": float(data["candidate_cost_usd"]),
        "cost_delta_pct": data["cost_delta_pct"],
    }
    return Artifact.model_validate(
        {
            "bench_version": "0.1.0",
            "tokenjam_version": str(data["tokenjam_version"]),
            "created_at": created,
            "suite": SuiteRecord(
                name=str(data["benchmark"]),
                prompts_revision=UNKNOWN,
                checks_revision=UNKNOWN,
                n_available=int(data["n_tasks"]),
            ),
            "original_model": original,
            "candidate_model": candidate,
            "slot": candidate if pinned else "recommended",
            "recommended_by": str(data["recommended_by"]),
            "sampling": SamplingRecord(samples=samples.pop()),
            "seed": None,
            "scorer_version": SCORER,
            "sandbox_level": UNKNOWN,
            "judge": None,
            "mock": bool(data["mock"]),
            "priced_with_defaults": bool(data["priced_with_defaults"]),
            "flags": tuple(flags),
            "rates": rates,
            "claimed_saving_pct": None,
            "commit": None,
            "tasks": records,
            "schema": "tjbench/1",
            **derived,
        }
    )


def _task(task: Mapping[str, Any]) -> TaskRecord:
    def trial(side: str) -> dict[str, object]:
        passes, samples = int(task[f"{side}_passes"]), int(task["samples"])
        return {
            "passes": passes,
            "samples": samples,
            "usage": {"output": int(task[f"{side}_output_tokens"])},
            "cause": None if passes == samples else UNKNOWN,
            "detail": str(task[f"{side}_detail"]),
            "stated_cost_usd": task.get(f"{side}_cost_usd"),
        }

    return TaskRecord.model_validate(
        {
            "task_id": str(task["task_id"]),
            "check_hash": UNKNOWN,
            "prompt_hash": UNKNOWN,
            "original": trial("original"),
            "candidate": trial("candidate"),
        }
    )
