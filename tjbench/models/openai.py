"""OpenAI Chat Completions over the ``openai`` SDK, for OpenAI and every endpoint that speaks the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import openai
from pydantic import BaseModel

from tjbench.config import ModelSpec
from tjbench.models.failures import trouble_of, words_of
from tjbench.models.model import Finish, ModelError, Request, Response, Trouble
from tjbench.models.parameters import Accepted, Parameters
from tjbench.models.sdk import SdkModel
from tjbench.models.transport import http_client
from tjbench.pricing import Usage

_FINISH = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "length": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
}
# The provider failed in the middle of the answer: Mistral and OpenRouter; DeepSeek.
_BROKEN_OFF = frozenset({"error", "insufficient_system_resource"})


class OpenAIModel(SdkModel):
    """``model_id`` is what the API calls the model when that differs from the spec. ``timeout_s`` bounds one call,
    its body included."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        base_url: str,
        key: str,
        model_id: str | None = None,
        secrets: Iterable[str] = (),
        timeout_s: float = 300.0,
    ) -> None:
        http = http_client(openai, timeout_s)
        client = openai.OpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
            default_headers=None if spec.provider == "openai" else _headers_of_its_own(key),
        )
        super().__init__(spec, openai, client, Accepted("temperature", "seed"), [key, *secrets])
        self._id = model_id or spec.model
        self._completions = client.chat.completions.with_raw_response

    def _send(self, request: Request, sent: Parameters) -> Any:
        messages: list[Any] = [dict(message) for message in request.messages]
        parameters: dict[str, Any] = dict(sent)
        return self._completions.create(model=self._id, messages=messages, **parameters)

    def _read(self, body: str) -> Response | ModelError:
        completion = Completion.model_validate_json(body)
        if completion.error is not None:
            words = words_of(body)
            code = completion.error.get("code") if isinstance(completion.error, dict) else None
            return self._failure(trouble_of(code if isinstance(code, int) else 500, words), words)
        if not completion.choices:
            return self._failure(Trouble.MALFORMED, "a chat completion without choices")
        choice = completion.choices[0]
        if choice.error or choice.finish_reason in _BROKEN_OFF:
            why = words_of(json.dumps(choice.error)) if choice.error else choice.finish_reason
            return self._failure(Trouble.MALFORMED, f"the provider broke its answer off: {why}")
        refused = choice.message.refusal and not choice.message.text
        return Response(
            text=choice.message.text or choice.message.refusal or "",
            usage=completion.usage.normalized() if completion.usage else None,
            finish=Finish.FILTERED if refused else _FINISH.get(choice.finish_reason or "", Finish.OTHER),
            latency_s=None,
            request_id=completion.id,
        )


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionUsage(BaseModel):
    """``usage`` of a chat completion as providers send it; DeepSeek names its cached tokens apart."""

    prompt_tokens: int
    completion_tokens: int = 0
    total_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None

    def normalized(self) -> Usage:
        """Disjoint buckets that add up to the provider's total.

        ``prompt_tokens`` includes cached ones. Google and xAI leave reasoning out of ``completion_tokens`` and bill
        it as output: it is what the total holds beyond the two.
        """
        details = self.prompt_tokens_details or _PromptDetails()
        read = min(details.cached_tokens or self.prompt_cache_hit_tokens or 0, self.prompt_tokens)
        write = min(details.cache_write_tokens or 0, self.prompt_tokens - read)
        beyond = (self.total_tokens or 0) - self.prompt_tokens
        return Usage(
            input=self.prompt_tokens - read - write,
            output=max(self.completion_tokens, beyond),
            cache_read=read,
            cache_write=write,
        )


class _Part(BaseModel):
    type: str | None = None
    text: str | None = None


class _Message(BaseModel):
    """Mistral's reasoning models answer in parts, of which those of type ``text`` are the answer."""

    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    error: dict[str, Any] | str | None = None


class Completion(BaseModel):
    """The parts of a chat completion that matter here. OpenRouter reports errors with status 200 in ``error``."""

    id: str | None = None
    choices: list[_Choice] | None = None
    usage: CompletionUsage | None = None
    error: dict[str, Any] | str | None = None


def _headers_of_its_own(key: str) -> dict[str, Any]:
    """Keeps what the SDK reads for OpenAI from the environment (organization, extra headers) from other providers."""
    custom = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
    foreign = [name for name in custom if name and name.lower() != "authorization"]
    omitted = {name: openai.Omit() for name in ("OpenAI-Organization", "OpenAI-Project", *foreign)}
    return {**omitted, "Authorization": f"Bearer {key}"}
