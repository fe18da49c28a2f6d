"""What answers: the request, the response, and what every model promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tjbench.config import ModelSpec
from tjbench.pricing import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Parameters of a call; ``None`` leaves the provider's default and sends nothing."""

    max_tokens: int = 2048
    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call: chat messages as ``{"role", "content"}``; ``task_id`` and ``sample`` (0-based) name what it is for
    and are never sent."""

    task_id: str
    sample: int
    messages: tuple[Mapping[str, str], ...]
    sampling: Sampling


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    FILTERED = "filtered"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer with what it used. ``usage`` is ``None`` when the provider did not say; ``latency_s`` is the answering
    call's own, without retries; ``sent`` holds the parameters that really went out; ``reused_from`` names where an
    answer that was not asked for again came from."""

    text: str
    usage: Usage | None
    finish: Finish
    latency_s: float | None
    request_id: str | None = None
    sent: Mapping[str, float | int | str] | None = None
    reused_from: str | None = None


class Trouble(StrEnum):
    """What went wrong with a call. The permanent ones end the run: asking again cannot help."""

    AUTHENTICATION = "authentication"
    QUOTA = "quota"
    NOT_FOUND = "not_found"
    BAD_REQUEST = "bad_request"
    RATE_LIMIT = "rate_limit"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    FILTERED = "filtered"
    MALFORMED = "malformed"
    BUDGET = "budget"
    DEADLINE = "deadline"

    @property
    def permanent(self) -> bool:
        return self in {Trouble.AUTHENTICATION, Trouble.QUOTA, Trouble.NOT_FOUND}


class ModelError(Exception):
    """A call that brought no answer. ``str(error)`` is fit to be shown: it never holds a key. ``retry_after_s`` is how
    long the provider asks to wait; ``unreached``: there was no connection; ``lost``: there was one, and it broke before
    any answer came."""

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        retry_after_s: float | None = None,
        unreached: bool = False,
        lost: bool = False,
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.retry_after_s = retry_after_s
        self.unreached = unreached
        self.lost = lost


class Model(Protocol):
    """Anything that answers. ``answer`` may be called from many threads at once and raises ``ModelError``, or a
    ``TjbError`` when the run cannot go on. ``close`` frees connections and may be called twice."""

    @property
    def spec(self) -> ModelSpec: ...

    def answer(self, request: Request) -> Response: ...

    def close(self) -> None: ...
