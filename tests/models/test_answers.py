"""One answer of each provider, in the shape its API documents, over the real SDK: what becomes of it here.

The numbers are chosen so that every bucket differs; each case says by its own arithmetic what they come to.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.models.test_sdk import refusal
from tjbench.config import ModelSpec
from tjbench.models.model import Finish, Request, Sampling, Trouble
from tjbench.models.providers import open_model
from tjbench.pricing import Usage

REQUEST = Request(
    task_id="t", sample=0, messages=({"role": "user", "content": "6*7?"},), sampling=Sampling(max_tokens=9)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``variable`` leads to the loopback; ``sent_as`` is the model's name there; ``total`` the provider's own sum."""

    spec: str
    variable: str
    sent_as: str
    body: dict[str, Any]
    usage: Usage
    total: int
    text: str = "42"
    finish: Finish = Finish.STOP
    headers: dict[str, str]
    request_id: str


def completion(*, id: str, model: str, message: dict[str, Any], finish: str, usage: Any, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    base = {"id": id, "object": "chat.completion", "created": 1767225600, "model": model}
    return {**base, "choices": [choice], "usage": usage, **more}


CASES = {
    "anthropic": Case(
        spec="anthropic:claude-opus-4-8",
        variable="ANTHROPIC_BASE_URL",
        sent_as="claude-opus-4-8",
        headers={"request-id": "req_011CSHoEeqs5C35K2UUqR7Fy"},
        request_id="req_011CSHoEeqs5C35K2UUqR7Fy",
        body={
            "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [
                {"type": "thinking", "thinking": "6 times 7", "signature": "EqQB"},
                {"type": "text", "text": "42", "citations": None},
            ],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 21,
                "cache_creation_input_tokens": 188,
                "cache_read_input_tokens": 1024,
                "cache_creation": {"ephemeral_5m_input_tokens": 188, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 39,
                "server_tool_use": None,
                "service_tier": "standard",
            },
        },
        usage=Usage(input=21, cache_read=1024, cache_write=188, output=39),
        total=21 + 188 + 1024 + 39,
    ),
    "openai": Case(
        spec="openai:gpt-5-mini",
        variable="OPENAI_BASE_URL",
        sent_as="gpt-5-mini",
        headers={"x-request-id": "req_9b1f"},
        request_id="req_9b1f",
        body=completion(
            id="chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
            model="gpt-5-mini-2025-08-07",
            message={"content": "42", "refusal": None, "annotations": []},
            finish="stop",
            usage={
                "prompt_tokens": 1219,
                "completion_tokens": 310,
                "total_tokens": 1529,
                "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 256,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            service_tier="default",
            system_fingerprint=None,
        ),
        usage=Usage(input=1219 - 1024, cache_read=1024, output=310),
        total=1529,
    ),
    "deepseek": Case(
        spec="deepseek:deepseek-reasoner",
        variable="DEEPSEEK_BASE_URL",
        sent_as="deepseek-reasoner",
        headers={"x-ds-trace-id": "8a5b"},
        request_id="930c60df-bf64-41c9-a88e-3ec75f81e00e",
        body=completion(
            id="930c60df-bf64-41c9-a88e-3ec75f81e00e",
            model="deepseek-reasoner",
            message={"content": "42", "reasoning_content": "6 times 7"},
            finish="stop",
            usage={
                "prompt_tokens": 81,
                "completion_tokens": 120,
                "total_tokens": 201,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 100},
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 17,
            },
            system_fingerprint="fp_a49d71b8a1",
        ),
        usage=Usage(input=17, cache_read=64, output=120),
        total=201,
    ),
    "google": Case(
        spec="google:gemini-2-5-flash",
        variable="GEMINI_BASE_URL",
        sent_as="gemini-2.5-flash",
        headers={},
        request_id="c5Q0afDnGvKLkdUPudyyqQE",
        body=completion(
            id="c5Q0afDnGvKLkdUPudyyqQE",
            model="gemini-2.5-flash",
            message={"content": "42"},
            finish="stop",
            # thinking is in the total alone
            usage={"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 497},
        ),
        usage=Usage(input=8, output=497 - 8),
        total=497,
    ),
    "groq": Case(
        spec="groq:llama-3.3-70b-versatile",
        variable="GROQ_BASE_URL",
        sent_as="llama-3.3-70b-versatile",
        headers={"x-request-id": "req_01jbd6g2qdfw2adyrt2az8hz4w"},
        request_id="req_01jbd6g2qdfw2adyrt2az8hz4w",
        body=completion(
            id="chatcmpl-f51b2cd2-bef7-417e-964e-a08f0b513c22",
            model="llama-3.3-70b-versatile",
            message={"content": "42"},
            finish="length",
            usage={
                "queue_time": 0.037493756,
                "prompt_tokens": 18,
                "prompt_time": 0.000680594,
                "completion_tokens": 9,
                "completion_time": 0.463333333,
                "total_tokens": 27,
                "total_time": 0.464013927,
            },
            system_fingerprint="fp_179b0f92c9",
            x_groq={"id": "req_01jbd6g2qdfw2adyrt2az8hz4w"},
        ),
        finish=Finish.LENGTH,
        usage=Usage(input=18, output=9),
        total=27,
    ),
    "mistral": Case(
        spec="mistral:magistral-medium-latest",
        variable="MISTRAL_BASE_URL",
        sent_as="magistral-medium-latest",
        headers={"mistral-correlation-id": "0199"},
        request_id="cmpl-e5cc70bb28c444948073e77776eb30ef",
        body=completion(
            id="cmpl-e5cc70bb28c444948073e77776eb30ef",
            model="magistral-medium-latest",
            message={
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "6 times 7 is 41, no"}], "closed": True},
                    {"type": "text", "text": "4"},
                    {"type": "text", "text": "2"},
                ],
                "tool_calls": None,
                "prefix": False,
            },
            finish="model_length",
            usage={"prompt_tokens": 16, "completion_tokens": 34, "total_tokens": 50},
        ),
        finish=Finish.LENGTH,
        usage=Usage(input=16, output=34),
        total=50,
    ),
    "ollama": Case(
        spec="ollama:llama3.2:3b",
        variable="OLLAMA_BASE_URL",
        sent_as="llama3.2:3b",
        headers={},
        request_id="chatcmpl-862",
        body=completion(
            id="chatcmpl-862",
            model="llama3.2:3b",
            message={"content": "42"},
            finish="stop",
            usage={"prompt_tokens": 26, "completion_tokens": 7, "total_tokens": 33},
            system_fingerprint="fp_ollama",
        ),
        usage=Usage(input=26, output=7),
        total=33,
    ),
    "openrouter": Case(
        spec="openrouter:anthropic/claude-sonnet-4.5",
        variable="OPENROUTER_BASE_URL",
        sent_as="anthropic/claude-sonnet-4.5",
        headers={},
        request_id="gen-1767225600-u5lGZ",
        body={
            **completion(
                id="gen-1767225600-u5lGZ",
                model="anthropic/claude-sonnet-4.5",
                message={"content": "42", "refusal": None, "reasoning": None},
                finish="stop",
                usage={
                    "prompt_tokens": 1300,
                    "completion_tokens": 12,
                    "total_tokens": 1312,
                    "cost": 0.00417,
                    "is_byok": False,
                    "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 1000, "audio_tokens": 0},
                    "cost_details": {"upstream_inference_cost": None},
                    "completion_tokens_details": {"reasoning_tokens": 0, "image_tokens": 0},
                },
            ),
            "provider": "Anthropic",
        },
        usage=Usage(input=100, cache_read=200, cache_write=1000, output=12),
        total=1312,
    ),
    "xai": Case(
        spec="xai:grok-4",
        variable="XAI_BASE_URL",
        sent_as="grok-4",
        headers={},
        request_id="a3d1008e-4544-40d4-d075-11527e794e4a",
        body=completion(
            id="a3d1008e-4544-40d4-d075-11527e794e4a",
            model="grok-4-0709",
            message={"content": "42", "refusal": None},
            finish="stop",
            # reasoning stands beside the completion, and in the total
            usage={
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 6},
                "completion_tokens_details": {"reasoning_tokens": 94, "audio_tokens": 0},
                "num_sources_used": 0,
            },
            system_fingerprint="fp_3a7881249c",
        ),
        usage=Usage(input=26, cache_read=6, output=9 + 94),
        total=135,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_answer_becomes_the_same_record_whoever_gives_it(name: str) -> None:
    case = CASES[name]
    with FakeProvider(
        lambda _: Reply(raw=json.dumps(case.body), headers={"x-request-id": "", **case.headers})
    ) as provider:
        url = provider.anthropic_url if name == "anthropic" else provider.openai_url
        with closing(open_model(ModelSpec.parse(case.spec), environ={case.variable: url})) as model:
            response = model.answer(REQUEST)
    (ask,) = provider.asks
    assert (ask.shape, ask.model) == ("anthropic" if name == "anthropic" else "openai", case.sent_as)
    assert (response.text, response.finish, response.request_id) == (case.text, case.finish, case.request_id)
    assert response.usage == case.usage
    used = case.usage
    assert used.input + used.cache_read + used.cache_write + used.output == case.total
    assert response.latency_s is not None
    assert response.latency_s > 0
    assert response.sent == {"max_tokens": 9}


def test_a_gateway_of_the_user_answers_in_openai_s_shape() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "prompt_tokens_details": None}
    body = completion(id="cmpl-1", model="m", message={"content": "42"}, finish="stop", usage=usage)
    with FakeProvider(lambda _: Reply(raw=json.dumps(body))) as provider:
        gateways = {"corp": (provider.openai_url, "CORP_API_KEY")}
        with closing(open_model(ModelSpec("corp", "team/m:1"), gateways, {"CORP_API_KEY": "corp-secret"})) as model:
            response = model.answer(REQUEST)
    (ask,) = provider.asks
    assert (ask.model, ask.headers["authorization"]) == ("team/m:1", "Bearer corp-secret")
    assert (response.text, response.usage) == ("42", Usage(input=5, output=2))


@pytest.mark.parametrize(
    "choice",
    [
        # OpenRouter, when the provider behind it fails in the middle: status 200, and the error in the choice
        {"finish_reason": "error", "error": {"code": 502, "message": "Provider disconnected"}},
        {"finish_reason": "error"},
        {"finish_reason": "insufficient_system_resource"},
    ],
)
def test_an_answer_that_the_provider_broke_off_is_no_wrong_answer(choice: dict[str, Any]) -> None:
    body = completion(id="gen-1", model="m", message={"content": "the answer is"}, finish="", usage=None)
    body["choices"][0] |= choice
    error = refusal("openai", Reply(raw=json.dumps(body)))
    assert error.trouble is Trouble.MALFORMED
    assert "broke its answer off: " in str(error)
