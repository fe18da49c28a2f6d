"""A model whose calls are told to someone who counts them."""

from __future__ import annotations

from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.model import Model, Request, Response


class WatchedModel:
    """Tells ``called`` before each call; answers that are kept never get here."""

    def __init__(self, model: Model, called: Callable[[ModelSpec], None]) -> None:
        self._model = model
        self._called = called

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def answer(self, request: Request) -> Response:
        self._called(self.spec)
        return self._model.answer(request)

    def close(self) -> None:
        self._model.close()
