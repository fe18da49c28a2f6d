"""A model that answers from a function."""

from __future__ import annotations

from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.model import Finish, Request, Response
from tjbench.pricing import Usage

SPEC = ModelSpec("openai", "gpt-test")


def response(text: str = "ok", usage: Usage | None = None, finish: Finish = Finish.STOP) -> Response:
    return Response(text=text, usage=usage or Usage(input=10, output=5), finish=finish, latency_s=0.25, request_id="r1")


class FakeModel:
    """Answers ``function(request)`` and keeps the requests it was asked."""

    def __init__(self, function: Callable[[Request], Response] | None = None, spec: ModelSpec = SPEC) -> None:
        self._function = function or (lambda request: response(f"answer to {request.task_id}"))
        self._spec = spec
        self.asked: list[Request] = []
        self.closed = False

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def answer(self, request: Request) -> Response:
        self.asked.append(request)
        return self._function(request)

    def close(self) -> None:
        self.closed = True
