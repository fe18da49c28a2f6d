"""Usage as providers report it, in disjoint buckets that add up to the provider's own totals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjbench.models.anthropic import ReplyUsage
from tjbench.models.openai import CompletionUsage
from tjbench.pricing import Usage

counts = st.integers(0, 10**7)


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        pytest.param(
            {
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 128, "accepted_prediction_tokens": 0},
            },
            Usage(input=86, output=300, cache_read=1920),
            id="openai: prompt includes cached, completion includes reasoning",
        ),
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36,
            },
            Usage(input=36, output=20, cache_read=64),
            id="deepseek: hits and misses apart",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 915},
            Usage(input=10, output=905),
            id="google: thinking only in the total",
        ),
        pytest.param(
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "prompt_tokens_details": {"text_tokens": 32, "cached_tokens": 6},
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(input=26, output=103, cache_read=6),
            id="xai: reasoning beside completion",
        ),
        pytest.param(
            {
                "prompt_tokens": 1000,
                "completion_tokens": 10,
                "total_tokens": 1010,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 900},
                "cost": 0.0123,
            },
            Usage(input=100, output=10, cache_write=900),
            id="openrouter: cache writes",
        ),
        pytest.param(
            {"prompt_tokens": 26, "completion_tokens": 298, "total_tokens": 324},
            Usage(input=26, output=298),
            id="ollama",
        ),
        pytest.param(
            {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": None},
            Usage(input=7, output=3),
            id="details that are null",
        ),
    ],
)
def test_openai_shape(reported: dict[str, Any], usage: Usage) -> None:
    assert CompletionUsage.model_validate(reported).normalized() == usage


@given(prompt=counts, cached=counts, written=counts, completion=counts, beyond=counts)
def test_openai_parts_add_up_to_the_total(prompt: int, cached: int, written: int, completion: int, beyond: int) -> None:
    total = prompt + completion + beyond
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    usage = CompletionUsage.model_validate(
        {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": total,
            "prompt_tokens_details": details,
        }
    ).normalized()
    assert usage.input + usage.cache_read + usage.cache_write + usage.output == total
    assert min(usage.input, usage.cache_read, usage.cache_write, usage.output) >= 0


@given(fresh=counts, read=counts, write=counts, output=counts)
def test_anthropic_parts_are_disjoint_already(fresh: int, read: int, write: int, output: int) -> None:
    reported = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }
    usage = ReplyUsage.model_validate(reported).normalized()
    assert usage == Usage(input=fresh, output=output, cache_read=read, cache_write=write)


def test_anthropic_counts_may_be_null() -> None:
    reported = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None}
    assert ReplyUsage.model_validate(reported).normalized() == Usage(input=3, output=4)
