"""A scripted model: answers right or wrong from what the suite has canned, always the same for the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tjbench.config import ModelSpec
from tjbench.models.model import Finish, ModelError, Request, Response, Trouble
from tjbench.pricing import Usage


class MockModel:
    """Answers ``canned[task_id]``, a pair (right, wrong), with the right one at the rate ``accuracy`` (0 to 1).

    Whether a task is right depends on seed, spec, task and sample alone, so a lower accuracy fails a superset of what
    a higher one fails. Usage is estimated at four characters a token; there is no latency.
    """

    def __init__(
        self, spec: ModelSpec, canned: Mapping[str, tuple[str, str]], *, accuracy: float, seed: int = 0
    ) -> None:
        if not 0 <= accuracy <= 1:
            raise ValueError(f"accuracy is a rate from 0 to 1, not {accuracy}")
        self._spec = spec
        self._canned = canned
        self._accuracy = accuracy
        self._seed = seed

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def answer(self, request: Request) -> Response:
        pair = self._canned.get(request.task_id)
        if pair is None:
            raise ModelError(Trouble.NOT_FOUND, f"{self._spec}: no scripted answer for task {request.task_id}")
        right, wrong = pair
        text = right if self._draw(request) < self._accuracy else wrong
        prompt = sum(len(message["content"]) for message in request.messages)
        return Response(
            text=text,
            usage=Usage(input=_tokens(prompt), output=_tokens(len(text))),
            finish=Finish.STOP,
            latency_s=None,
        )

    def close(self) -> None:
        pass

    def _draw(self, request: Request) -> float:
        name = f"{self._seed}\0{self._spec}\0{request.task_id}\0{request.sample}"
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) / 2**64


def _tokens(characters: int) -> int:
    return max(1, -(-characters // 4))
