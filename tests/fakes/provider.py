"""A model provider on loopback that answers from a script, in OpenAI's and Anthropic's shapes.

In Python: ``with FakeProvider(answer) as provider`` where ``answer`` maps an ``Ask`` to a ``Reply``. From the command
line, with the rules of ``tests/fakes/script.py``:

    python -m tests.fakes.provider --port 0 --script rules.json

prints ``{"port": N, "openai": URL, "anthropic": URL}`` when it listens. ``GET /__requests`` counts what was asked.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

_PARTS = 50
_ANTHROPIC_FINISH = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request as it arrived; ``number`` counts from 1 over the server's life."""

    number: int
    shape: str
    model: str
    system: str
    user: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What to answer. ``usage`` replaces the estimated usage as it stands in the response. ``raw`` replaces the whole
    body, which takes ``body_s`` to go out. An empty header is left out. ``hang_up`` closes the connection without a
    word, ``reset`` breaks it."""

    text: str = ""
    status: int = 200
    message: str = ""
    code: str | None = None
    param: str | None = None
    finish: str = "stop"
    usage: Mapping[str, Any] | None = None
    delay_s: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    content_type: str = "application/json"
    hang_up: bool = False
    reset: bool = False
    body_s: float = 0.0


Script = Callable[[Ask], Reply]


class FakeProvider:
    """Serves ``script`` until the ``with`` block ends; ``asks`` holds every request in order of arrival."""

    def __init__(self, script: Script, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.asks: list[Ask] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._script = script
        self._server = _Server((host, port), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> FakeProvider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def counts(self) -> dict[str, Any]:
        with self._lock:
            by_model = Counter(ask.model for ask in self.asks)
            return {"total": len(self.asks), "by_model": dict(by_model), "most_in_flight": self.most_in_flight}

    def answer(self, shape: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Ask, Reply]:
        with self._lock:
            ask = _ask(len(self.asks) + 1, shape, body, headers)
            self.asks.append(ask)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            reply = self._script(ask)
            if reply.delay_s:
                time.sleep(reply.delay_s)
        finally:
            with self._lock:
                self._in_flight -= 1
        return ask, reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may hang up
            super().handle_error(request, client_address)


def _handler(provider: FakeProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            if self.path == "/__requests":
                self._send(200, json.dumps(provider.counts()), "application/json", {})
            else:
                self._send(404, "{}", "application/json", {})

        def do_POST(self) -> None:
            sent = self.rfile.read(size := int(self.headers["Content-Length"]))
            if len(sent) < size:
                raise ConnectionAbortedError("the client was killed while it wrote")
            body = json.loads(sent)
            path = self.path.partition("?")[0]
            shape = {"completions": "openai", "messages": "anthropic"}.get(path.rpartition("/")[2])
            if shape is None:
                self._send(404, json.dumps({"error": {"message": f"no route {path}"}}), "application/json", {})
                return
            ask, reply = provider.answer(shape, body, {name.lower(): value for name, value in self.headers.items()})
            if reply.reset:
                self.close_connection = True
                # Closing with data unread or with no time to linger sends RST.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return
            if reply.hang_up:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            text = reply.raw if reply.raw is not None else json.dumps(_body(ask, reply))
            name = "x-request-id" if shape == "openai" else "request-id"
            self._send(
                reply.status, text, reply.content_type, {name: f"req_{ask.number}", **reply.headers}, reply.body_s
            )

        def _send(
            self, status: int, text: str, content_type: str, headers: Mapping[str, str], body_s: float = 0.0
        ) -> None:
            data = text.encode()
            self.send_response(status)
            for name, value in {"Content-Type": content_type, "Content-Length": str(len(data)), **headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            for part in range(_PARTS) if body_s else ():
                self.wfile.write(data[len(data) * part // _PARTS : len(data) * (part + 1) // _PARTS])
                time.sleep(body_s / _PARTS)
            if not body_s:
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


def _ask(number: int, shape: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Ask:
    messages = [(message["role"], _text(message.get("content"))) for message in body["messages"]]
    system = [content for role, content in messages if role in {"system", "developer"}]
    users = [content for role, content in messages if role == "user"]
    return Ask(
        number=number,
        shape=shape,
        model=body["model"],
        system=_text(body.get("system")) or "\n\n".join(system),
        user=users[-1] if users else "",
        body=body,
        headers=headers,
    )


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content if isinstance(content, str) else ""


def _body(ask: Ask, reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        return _error(ask, reply)
    prompt = -(-len(ask.system + ask.user) // 4)
    answer = max(1, -(-len(reply.text) // 4))
    if ask.shape == "openai":
        return {
            "id": f"chatcmpl-{ask.number}",
            "object": "chat.completion",
            "created": 1767225600,
            "model": ask.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": reply.text, "refusal": None, "annotations": []},
                    "logprobs": None,
                    "finish_reason": reply.finish,
                }
            ],
            "usage": reply.usage
            or {
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "total_tokens": prompt + answer,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": None,
        }
    return {
        "id": f"msg_{ask.number}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [{"type": "text", "text": reply.text}],
        "stop_reason": _ANTHROPIC_FINISH.get(reply.finish, reply.finish),
        "stop_sequence": None,
        "usage": reply.usage
        or {
            "input_tokens": prompt,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": answer,
            "service_tier": "standard",
        },
    }


def _error(ask: Ask, reply: Reply) -> dict[str, Any]:
    message = reply.message or f"scripted error {reply.status}"
    if ask.shape == "openai":
        kind = "invalid_request_error" if reply.status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": reply.param, "code": reply.code}}
    kind = reply.code or _ANTHROPIC_ERRORS.get(reply.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{ask.number}"}


def main() -> None:
    from tests.fakes.script import load_script

    parser = argparse.ArgumentParser(description="A scripted model provider.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    options = parser.parse_args()
    provider = FakeProvider(load_script(options.script), host=options.host, port=options.port)
    ready = {"port": provider.port, "openai": provider.openai_url, "anthropic": provider.anthropic_url}
    print(json.dumps(ready), flush=True)
    provider.serve_forever()


if __name__ == "__main__":
    main()
