"""Anthropic Messages over the ``anthropic`` SDK."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anthropic
from pydantic import BaseModel

from tjbench.config import ModelSpec
from tjbench.models.model import Finish, Request, Response
from tjbench.models.parameters import Accepted, Parameters
from tjbench.models.sdk import SdkModel
from tjbench.models.transport import http_client
from tjbench.pricing import Usage

_FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.FILTERED,
}


class AnthropicModel(SdkModel):
    """System messages go out as the ``system`` parameter. ``model_id`` is what the API calls the model when that
    differs from the spec. ``timeout_s`` bounds one call, its body included."""

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
        http = http_client(anthropic, timeout_s)
        client = anthropic.Anthropic(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
        )
        super().__init__(spec, anthropic, client, Accepted("temperature"), [key, *secrets])
        self._id = model_id or spec.model
        self._messages = client.messages.with_raw_response

    def _send(self, request: Request, sent: Parameters) -> Any:
        system = "\n\n".join(message["content"] for message in request.messages if message["role"] == "system")
        turns: list[Any] = [dict(message) for message in request.messages if message["role"] != "system"]
        # The SDK has no parameter for temperature any more; the API still takes it for some models.
        beyond = {name: value for name, value in sent.items() if name != "max_tokens"}
        return self._messages.create(
            model=self._id,
            messages=turns,
            max_tokens=int(sent["max_tokens"]),
            system=system or anthropic.omit,
            extra_body=beyond or None,
        )

    def _read(self, body: str) -> Response:
        reply = Reply.model_validate_json(body)
        return Response(
            text="".join(block.text or "" for block in reply.content if block.type == "text"),
            usage=reply.usage.normalized() if reply.usage else None,
            finish=_FINISH.get(reply.stop_reason or "", Finish.OTHER),
            latency_s=None,
            request_id=reply.id,
        )


class _Block(BaseModel):
    type: str
    text: str | None = None


class ReplyUsage(BaseModel):
    """``usage`` of a message: the three input counts are disjoint, and output includes thinking."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def normalized(self) -> Usage:
        return Usage(
            input=self.input_tokens,
            output=self.output_tokens,
            cache_read=self.cache_read_input_tokens or 0,
            cache_write=self.cache_creation_input_tokens or 0,
        )


class Reply(BaseModel):
    """The parts of a message that matter here."""

    id: str | None = None
    content: list[_Block]
    stop_reason: str | None = None
    usage: ReplyUsage | None = None
