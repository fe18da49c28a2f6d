"""What a run spends: metered, and under a hard cap, held by reserving before each call what it may cost at most."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable

from tjbench.config import ModelSpec
from tjbench.models.cached import CachedModel
from tjbench.models.model import Model, ModelError, Request, Response, Trouble
from tjbench.pricing import Usage

_WARN_AT = 0.8


def is_perhaps_billed(error: ModelError) -> bool:
    """Whether the call may have been answered, and billed, without our seeing the answer."""
    return error.lost or (error.trouble in {Trouble.TIMEOUT, Trouble.MALFORMED} and not error.unreached)


class Budget:
    """Dollars that calls may spend together, ``math.inf`` without a cap; safe to share by threads. A call whose usage
    was not seen, and which may be billed all the same, counts with all that it may cost.

    ``price`` gives the dollars of a usage and raises ``UsageError`` for a model without a known price. ``warn`` is
    called once, with the dollars spent and the cap, when 80 % is spent.
    """

    def __init__(
        self,
        cap_usd: float,
        price: Callable[[ModelSpec, Usage], float],
        warn: Callable[[float, float], None] | None = None,
    ) -> None:
        self.cap_usd = cap_usd
        self._price = price
        self._warn = warn
        self._change = threading.Condition()
        self._spent = self._unseen = 0.0
        self._seen: defaultdict[ModelSpec, float] = defaultdict(float)
        self._in_flight: Counter[ModelSpec] = Counter()
        self._reserved = 0.0
        self._hit = False

    @property
    def spent_usd(self) -> float:
        """What settled calls cost, ``unseen_usd`` included."""
        return self._spent

    @property
    def unseen_usd(self) -> float:
        """What calls whose usage was not seen may have cost at most."""
        return self._unseen

    @property
    def answered_usd(self) -> float:
        """What the answers of all models cost by their usage, those too that came when nobody waited any more."""
        with self._change:
            return math.fsum(self._seen.values())

    def seen_usd(self, spec: ModelSpec) -> float:
        """What the answers of one model cost by their usage."""
        return self._seen.get(spec, 0.0)

    def in_flight(self, spec: ModelSpec) -> int:
        """Calls to one model that are under way."""
        return self._in_flight[spec]

    @property
    def hit(self) -> bool:
        """Whether a call was not made for want of money."""
        return self._hit

    def reserve(self, spec: ModelSpec, request: Request) -> float:
        """Sets aside what the call may cost at most and returns it; waits for calls in flight to settle if that can
        make room, else raises ``ModelError`` with ``Trouble.BUDGET``."""
        most = self._price(spec, upper_bound(request))
        with self._change:
            while self._spent + self._reserved + most > self.cap_usd:
                if not self._reserved or self._spent + most > self.cap_usd:
                    self._hit = True
                    words = f"{spec}: not asked, for the call may cost ${most:.4f} and ${self._left():.4f} is left"
                    words += " of --max-cost-usd"
                    raise ModelError(Trouble.BUDGET, words)
                self._change.wait()
            self._reserved += most
            self._in_flight[spec] += 1
        return most

    def settle(self, spec: ModelSpec, reserved: float, usage: Usage | None, *, billed: bool) -> None:
        """Replaces a reservation by what the call cost: by its ``usage``, or nothing where it was not ``billed``."""
        cost = self._price(spec, usage) if usage is not None else reserved if billed else 0.0
        with self._change:
            self._in_flight[spec] -= 1
            if usage is not None:
                self._seen[spec] += cost
            else:
                self._unseen += cost
            before, self._spent = self._spent, self._spent + cost
            # Sums of floats leave dust, and a reservation that is never quite gone would be waited for for ever.
            self._reserved = max(0.0, self._reserved - reserved)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self._change.notify_all()
        threshold = _WARN_AT * self.cap_usd
        if self._warn and before < threshold <= before + cost:
            self._warn(before + cost, self.cap_usd)

    def _left(self) -> float:
        return max(0.0, self.cap_usd - self._spent)


class BudgetedModel:
    """A model that is asked only when the budget can bear the call; an answer that is kept already costs nothing."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def recall(self, request: Request) -> Response | None:
        """The kept answer to ``request``, if there is one; asks nobody."""
        return self._model.recall(request) if isinstance(self._model, CachedModel) else None

    def answer(self, request: Request) -> Response:
        kept = self.recall(request)
        if kept is not None:
            return kept
        reserved = self._budget.reserve(self.spec, request)
        usage, billed = None, True
        try:
            response = self._model.answer(request)
            billed = response.reused_from is None  # another thread or process may have kept it meanwhile
            usage = response.usage if billed else None
        except ModelError as error:
            billed = is_perhaps_billed(error)
            raise
        finally:
            self._budget.settle(self.spec, reserved, usage, billed=billed)
        return response

    def close(self) -> None:
        self._model.close()


def upper_bound(request: Request) -> Usage:
    """More tokens than the call can use: a token per two bytes of prompt, some for each message, and all of
    ``max_tokens``."""
    size = sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in request.messages)
    return Usage(input=size // 2 + 16 * len(request.messages), output=request.sampling.max_tokens)
