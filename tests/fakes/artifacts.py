"""Artifacts made of marks: one mark a task for each model.

``p`` passed and ``f`` failed all its samples, ``u`` could not be judged; a digit passed that many of its samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag, SamplingRecord, SuiteRecord, TaskRecord, derive
from tjbench.compare.pair import Rule, Trial
from tjbench.pricing import Rates, Usage

ORIGINAL = "anthropic:claude-opus-4-7"
CANDIDATE = "anthropic:claude-haiku-4-5"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def trial(mark: str, output: int = 50, cause: str = "wrong_answer", *, samples: int = 1) -> Trial:
    """One task's outcome; every sample took 100 input and ``output`` output tokens."""
    passes = int(mark) if mark.isdigit() else samples * (mark == "p")
    assert mark in "pfu" or passes <= samples
    causes = {"u": "provider_error"}
    found = None if passes == samples else causes.get(mark, cause)
    return Trial(
        passes=passes,
        samples=samples,
        unscored=int(mark == "u"),
        usage=Usage(input=100 * samples, output=output * samples),
        latency_s=1.5,
        cause=found,
        detail=f"detail of {cause}" if found else "",
    )


def measurement(
    original: str,
    candidate: str,
    *,
    suite: str = "humaneval",
    task_ids: Sequence[str] = (),
    models: tuple[str, str] = (ORIGINAL, CANDIDATE),
    slot: str = RECOMMENDED,
    samples: int = 1,
    sampling: SamplingRecord | None = None,
    prices: tuple[float, float] = (10.0, 2.0),
    outputs: tuple[int, int] = (50, 100),
    claimed: float | None = 80.0,
    version: str = "0.6.1",
    created_at: datetime = AT,
    prompts: str | Sequence[str] = "v1",
    checks: str | Sequence[str] = "c",
    flags: tuple[Flag, ...] = (),
    source: str = "packaged",
    scorer: str = "1",
    judge: str | None = None,
    reused: Sequence[str | None] = (),
    rule: Rule | None = None,
) -> Artifact:
    """An artifact whose derived numbers follow from the marks. ``prices`` are USD per million tokens in and out;
    ``prompts`` and ``checks`` are hashes, one for all tasks or one a task; ``reused`` is the candidate's."""
    n = len(original)
    assert n == len(candidate)
    ids = task_ids or [f"{suite}/{i}" for i in range(n)]
    shown = [prompts] * n if isinstance(prompts, str) else prompts
    checked = [checks] * n if isinstance(checks, str) else checks
    sources = [*reused, *[None] * (n - len(reused))]
    records = tuple(
        TaskRecord(
            task_id=ids[i],
            check_hash=checked[i],
            prompt_hash=shown[i],
            original=trial(original[i], outputs[0], samples=samples),
            candidate=replace(trial(candidate[i], outputs[1], samples=samples), reused_from=sources[i]),
        )
        for i in range(n)
    )
    rates = {
        model: Rates(input=price, output=price, cache_read=0, cache_write=0, source=source, at=AT)
        for model, price in zip(models, prices, strict=True)
    }
    return Artifact.model_validate(
        {
            "schema": "tjbench/1",
            "bench_version": "1.0.0",
            "tokenjam_version": version,
            "created_at": created_at,
            "suite": SuiteRecord(name=suite, prompts_revision="p", checks_revision="c", n_available=n),
            "original_model": models[0],
            "candidate_model": models[1],
            "slot": slot,
            "recommended_by": f"tokenjam {version} lookup_downgrade" if slot == RECOMMENDED else "pinned",
            "sampling": sampling or SamplingRecord(samples=samples),
            "seed": None,
            "scorer_version": scorer,
            "sandbox_level": "full",
            "judge": judge,
            "mock": Flag.MOCK in flags,
            "priced_with_defaults": Flag.DEFAULT_RATES in flags,
            "flags": flags,
            "rates": rates,
            "claimed_saving_pct": claimed,
            "commit": None,
            "tasks": records,
            **derive(records, rates, models[0], models[1], rule or Rule()),
        }
    )
