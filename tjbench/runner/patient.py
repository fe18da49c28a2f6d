"""A model that is asked again when asking again can help: the one place where calls are retried."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.cached import CachedModel
from tjbench.models.model import Model, ModelError, Request, Response, Trouble
from tjbench.runner.budget import BudgetedModel
from tjbench.runner.clock import Clock
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.runner.throttle import NO_ANSWER, Throttle

RUN_ENDED = "not asked, for the run had ended"


class Throttles:
    """One throttle a provider, made when it is first asked; ``most`` calls are in flight to each. A permanent trouble
    ends the asking of all. Safe to share."""

    def __init__(
        self,
        most: int,
        *,
        patience: Patience | None = None,
        say: Callable[[str], None] = lambda _text: None,
        deadline: Deadline | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._most = most
        self._patience = patience or Patience()
        self._say = say
        self._deadline = deadline
        self._clock = clock
        self._lock = threading.Lock()
        self._over: ModelError | None = None
        self._by_provider: dict[str, Throttle] = {}

    def patient(self, model: Model) -> PatientModel:
        """``model`` behind its provider's throttle."""
        return PatientModel(model, self._of(model.spec), self._patience, end=self.end)

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
                throttle = Throttle(
                    spec.provider,
                    self._most,
                    self._patience,
                    say=self._say,
                    deadline=self._deadline,
                    clock=self._clock,
                )
                if self._over is not None:
                    throttle.end(self._over)
                self._by_provider[spec.provider] = throttle
            return throttle


class PatientModel:
    """Waits for room at the provider, asks, and asks again within ``patience``. Each asking under a budget is reserved
    and settled on its own; an answer that is kept already waits for nothing. ``end`` hears of what asking again cannot
    help, by this call or any other."""

    def __init__(
        self,
        model: Model,
        throttle: Throttle,
        patience: Patience,
        *,
        end: Callable[[ModelError], None] = lambda _why: None,
    ) -> None:
        self._model = model
        self._throttle = throttle
        self._patience = patience
        self._end = end

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def answer(self, request: Request) -> Response:
        kept = self._model.recall(request) if isinstance(self._model, CachedModel | BudgetedModel) else None
        if kept is not None:
            return kept
        ends_at = self._throttle.now() + self._patience.call_s
        tries: Counter[Trouble] = Counter()
        begun, asked = self._throttle.enter(self.spec), 0
        while True:
            outcome, asked = self._ask(request, begun), asked + 1
            if isinstance(outcome, Response):
                return outcome
            if outcome.trouble.permanent:
                self._end(ModelError(outcome.trouble, f"{RUN_ENDED}: {outcome}"))
            tries[outcome.trouble] += 1
            if self._throttle.outage and outcome.trouble in NO_ANSWER:
                tries = Counter({outcome.trouble: 1})  # an outage has a bound of its own
            pause_s = self._patience.pause_s(outcome, tries[outcome.trouble])
            if pause_s is None or self._throttle.now() + pause_s > ends_at:
                raise ModelError(outcome.trouble, f"{outcome} (asked {asked} times)") if asked > 1 else outcome
            begun = self._next_turn(pause_s, outcome)

    def close(self) -> None:
        self._model.close()

    def _ask(self, request: Request, begun: float) -> Response | ModelError:
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

    def _next_turn(self, pause_s: float, failed: ModelError) -> float:
        try:
            self._throttle.pause(pause_s, failed.trouble)
            return self._throttle.enter(self.spec)
        except ModelError as ended:
            before = f"; before that: {failed}" if ended.trouble is Trouble.DEADLINE else ""
            raise ModelError(ended.trouble, f"{ended}{before}") from None
