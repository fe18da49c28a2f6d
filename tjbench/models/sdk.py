"""What the models behind a provider's SDK have in common: adapt to refused parameters, name failures, keep keys out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from tjbench.config import ModelSpec
from tjbench.models.failures import Redactor, retry_after_s, trouble_of, words_of
from tjbench.models.model import ModelError, Request, Response, Trouble
from tjbench.models.parameters import Accepted, Parameters

_NO_CONNECTION = frozenset(
    {"ConnectError", "ConnectTimeout", "LocalProtocolError", "PoolTimeout", "ProxyError", "UnsupportedProtocol"}
)
"""Exceptions of httpx, or of its successor, by name, after which nothing was sent."""


class SdkModel(ABC):
    """One model behind one base URL. ``sdk`` is the provider's module, whose exceptions and raw responses the OpenAI
    and Anthropic packages name alike; ``client`` is its client, which asks once: ``runner`` asks again."""

    def __init__(
        self, spec: ModelSpec, sdk: ModuleType, client: Any, accepted: Accepted, secrets: Iterable[str]
    ) -> None:
        self._spec = spec
        self._sdk: Any = sdk
        self._client = client
        self._accepted = accepted
        self._redact = Redactor(secrets)

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    def close(self) -> None:
        self._client.close()

    def answer(self, request: Request) -> Response:
        while True:
            sent = self._accepted.of(request.sampling)
            # Raised outside the handler, so that no traceback shows the SDK's own exception with its headers.
            outcome = self._ask(request, sent)
            if isinstance(outcome, Response):
                return outcome
            if not (outcome.trouble is Trouble.BAD_REQUEST and self._accepted.learn(sent, str(outcome))):
                raise outcome

    @abstractmethod
    def _send(self, request: Request, sent: Parameters) -> Any:
        """The SDK's raw response to ``request`` with the parameters ``sent``."""

    @abstractmethod
    def _read(self, body: str) -> Response | ModelError:
        """The answer in a response body; raises ``ValidationError`` for one of another shape."""

    def _ask(self, request: Request, sent: Parameters) -> Response | ModelError:
        failed: Exception | None = None
        try:
            raw = self._send(request, sent)
        except (self._sdk.APIError, ValueError) as error:
            failed = error
        if failed is not None:  # told outside the handler, so that no bug in the telling shows the SDK's own words
            return self._told(failed)
        body = raw.http_response.text
        try:
            answer = self._read(body)
        except ValidationError:
            return self._failure(Trouble.MALFORMED, f"an answer of another shape: {words_of(body)}")
        if isinstance(answer, ModelError):
            return answer
        latency_s = raw.http_response.elapsed.total_seconds()
        return replace(answer, latency_s=latency_s, request_id=raw.request_id or answer.request_id, sent=sent)

    def _told(self, failed: Exception) -> ModelError:
        match failed:
            case self._sdk.APIStatusError():
                body = failed.response.text
                words, told = words_of(body), retry_after_s(failed.response.headers, body)
                return self._failure(trouble_of(failed.status_code, words), f"HTTP {failed.status_code}: {words}", told)
            case self._sdk.APITimeoutError():
                unsent = _is_unsent(failed)
                words = f"no {'connection' if unsent else 'answer'} in time"
                return self._failure(Trouble.TIMEOUT, words, unreached=unsent)
            case self._sdk.APIConnectionError():
                if getattr(failed.__cause__, "answer_began", False):
                    return self._failure(Trouble.MALFORMED, "the answer broke off")
                unsent = _is_unsent(failed)
                words = f"{'no connection' if unsent else 'the connection was lost'}: {failed.__cause__ or failed}"
                return self._failure(Trouble.UNAVAILABLE, words, unreached=unsent, lost=not unsent)
            case UnicodeEncodeError():
                return self._failure(Trouble.BAD_REQUEST, "the prompt holds text that is not valid Unicode")
            case _:
                return self._failure(Trouble.MALFORMED, f"{type(failed).__name__}: {failed}")

    def _failure(
        self,
        trouble: Trouble,
        words: str,
        retry_after_s: float | None = None,
        *,
        unreached: bool = False,
        lost: bool = False,
    ) -> ModelError:
        shown = self._redact(f"{self._spec}: {words}")
        return ModelError(trouble, shown, retry_after_s=retry_after_s, unreached=unreached, lost=lost)


def _is_unsent(error: Exception) -> bool:
    return type(error.__cause__).__name__ in _NO_CONNECTION
