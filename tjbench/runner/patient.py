"""A model that is asked again when asking again can help: the one place where calls are retried."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.cached import CachedModel
from tjbench.models.model import Model, ModelError, Request, Response, Trouble
from tjbench.runner.budget import BudgetedModel
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.runner.throttle import Throttle


class Throttles:
    """One throttle a provider, made when it is first asked; ``most`` calls are in flight to each. Safe to share."""

    def __init__(
        self,
        most: int,
        *,
        patience: Patience | None = None,
        say: Callable[[str], None] = lambda _text: None,
        deadline: Deadline | None = None,
    ) -> None:
        self._most = most
        self._patience = patience or Patience()
        self._say = say
        self._deadline = deadline
        self._lock = threading.Lock()
        self._over: ModelError | None = None
        self._by_provider: dict[str, Throttle] = {}

    def patient(self, model: Model) -> PatientModel:
        """``model`` behind its provider's throttle."""
        return PatientModel(model, self._of(model.spec), self._patience)

    def end(self, why: ModelError) -> None:
        """Ends the asking of all providers with ``why``."""
        with self._lock:
            self._over = self._over or why
            for throttle in self._by_provider.values():
                throttle.end(why)

    def summaries(self) -> tuple[str, ...]:
        """One sentence for each provider that was asked again."""
        return tuple(said for throttle in self._by_provider.values() if (said := throttle.summary()))

    def _of(self, spec: ModelSpec) -> Throttle:
        with self._lock:
            throttle = self._by_provider.get(spec.provider)
            if throttle is None:
                throttle = Throttle(spec.provider, self._most, self._patience, say=self._say, deadline=self._deadline)
                if self._over is not None:
                    throttle.end(self._over)
                self._by_provider[spec.provider] = throttle
            return throttle


class PatientModel:
    """Waits for room at the provider, asks, and asks again within ``patience``. Each asking under a budget is reserved
    and settled on its own; an answer that is kept already waits for nothing."""

    def __init__(self, model: Model, throttle: Throttle, patience: Patience) -> None:
        self._model = model
        self._throttle = throttle
        self._patience = patience

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def answer(self, request: Request) -> Response:
        kept = self._model.recall(request) if isinstance(self._model, CachedModel | BudgetedModel) else None
        if kept is not None:
            return kept
        ends_at = time.monotonic() + self._patience.call_s
        tries: Counter[Trouble] = Counter()
        while True:
            outcome = self._ask(request)
            if isinstance(outcome, Response):
                return outcome
            tries[outcome.trouble] += 1
            if self._throttle.outage and outcome.trouble in {Trouble.UNAVAILABLE, Trouble.TIMEOUT}:
                tries.clear()  # an outage has a bound of its own
                tries[outcome.trouble] = 1
            pause_s = self._patience.pause_s(outcome, tries[outcome.trouble])
            if pause_s is None or time.monotonic() + pause_s > ends_at:
                raise _last(outcome, tries.total())
            self._throttle.pause(pause_s, outcome.trouble)

    def close(self) -> None:
        self._model.close()

    def _ask(self, request: Request) -> Response | ModelError:
        begun = self._throttle.enter(self.spec)
        error: ModelError | None = None
        response: Response | None = None
        try:
            response = self._model.answer(request)
            return response
        except ModelError as caught:
            error = caught
            return caught
        finally:
            self._throttle.leave(self.spec, begun, error, answered=response is not None)


def _last(error: ModelError, tries: int) -> ModelError:
    return ModelError(error.trouble, f"{error} (asked {tries} times)") if tries > 1 else error
