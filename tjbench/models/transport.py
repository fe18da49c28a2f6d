"""The HTTP client under a provider's SDK: no redirects, and bounds on how long a connection and a whole answer may
take."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_CONNECT_S = 10.0


def http_client(sdk: Any, timeout_s: float) -> Any:
    """A client for ``sdk``. The library's own timeout bounds each read alone, so that a body which trickles in would
    be waited for without end; here all reads share ``timeout_s``."""
    http = _library(sdk)
    bounded = _bounded(http)

    def bound(response: Any) -> None:
        response.stream = bounded(response.stream, timeout_s)

    return sdk.DefaultHttpxClient(
        follow_redirects=False,  # a key goes to no other host
        timeout=http.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
        event_hooks={"response": [bound]},
    )


def _library(sdk: Any) -> ModuleType:
    """The ``httpx`` that ``sdk`` is built on, by whatever name its release knows it."""
    client = next(kind for kind in sdk.DefaultHttpxClient.__mro__ if kind.__name__ == "Client")
    return importlib.import_module(client.__module__.partition(".")[0])


def _bounded(http: Any) -> Any:
    """A stream class of ``http``: a break is marked ``answer_began``, and the time bound is a ``ReadTimeout``."""

    class Bounded(http.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, timeout_s: float) -> None:
            self._stream = stream
            self._ends_at = time.monotonic() + timeout_s

        @property
        def elapsed(self) -> Any:
            return getattr(self._stream, "elapsed", None)

        def __iter__(self) -> Iterator[bytes]:
            try:
                for part in self._stream:
                    yield part
                    if time.monotonic() > self._ends_at:
                        raise http.ReadTimeout("the answer came too slowly")
            except http.TimeoutException:
                raise
            except http.TransportError as error:
                error.answer_began = True
                raise

        def close(self) -> None:
            self._stream.close()

    return Bounded
