"""Measurements made of letters: one letter a task for each model, ``p`` passed, ``f`` failed, ``u`` unscored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag, SamplingRecord, SuiteRecord, TaskRecord, derive
from tjbench.compare.pair import Rule, Trial
from tjbench.pricing import Rates, Usage

ORIGINAL = "anthropic:claude-opus-4-7"
CANDIDATE = "anthropic:claude-haiku-4-5"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def trial(letter: str, output: int, cause: str = "wrong_answer") -> Trial:
    """One sample's outcome with 100 input tokens."""
    return Trial(
        passes=int(letter == "p"),
        samples=1,
        unscored=int(letter == "u"),
        usage=Usage(input=100, output=output),
        latency_s=1.5,
        cause={"p": None, "f": cause, "u": "provider_error"}[letter],
        detail="" if letter == "p" else f"detail of {cause}",
    )


def measurement(
    original: str,
    candidate: str,
    *,
    suite: str = "humaneval",
    task_ids: Sequence[str] = (),
    models: tuple[str, str] = (ORIGINAL, CANDIDATE),
    prices: tuple[float, float] = (10.0, 2.0),
    outputs: tuple[int, int] = (50, 100),
    claimed: float | None = 80.0,
    version: str = "0.6.1",
    prompts: str = "v1",
    flags: tuple[Flag, ...] = (),
    source: str = "packaged",
) -> Artifact:
    """An artifact whose derived numbers follow from the letters. ``prices`` are USD per million tokens in and out."""
    assert len(original) == len(candidate)
    ids = task_ids or [f"{suite}/{i}" for i in range(len(original))]
    records = tuple(
        TaskRecord(
            task_id=task_id,
            check_hash="c",
            prompt_hash=prompts,
            original=trial(before, outputs[0]),
            candidate=trial(after, outputs[1]),
        )
        for task_id, before, after in zip(ids, original, candidate, strict=True)
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
            "created_at": AT,
            "suite": SuiteRecord(name=suite, prompts_revision="p", checks_revision="c", n_available=len(records)),
            "original_model": models[0],
            "candidate_model": models[1],
            "slot": RECOMMENDED,
            "recommended_by": f"tokenjam {version} lookup_downgrade",
            "sampling": SamplingRecord(),
            "seed": None,
            "scorer_version": "1",
            "sandbox_level": "full",
            "judge": None,
            "mock": Flag.MOCK in flags,
            "priced_with_defaults": Flag.DEFAULT_RATES in flags,
            "flags": flags,
            "rates": rates,
            "claimed_saving_pct": claimed,
            "commit": None,
            "tasks": records,
            **derive(records, rates, models[0], models[1], Rule()),
        }
    )
