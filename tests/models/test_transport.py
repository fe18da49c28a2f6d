"""Answers that come too slowly, break off, or lead elsewhere, through the real SDKs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.models.test_sdk import SHAPES, opened, request
from tjbench.models.model import ModelError, Trouble

BODY = b'{"id": "x", "choices": [{"index": 0, "message": {"content": "four"}, "finish_reason": "stop"}], "content": []}'
NOWHERE = f"http://{'.'.join(['a' * 60] * 5)}.invalid"
"""Longer than any name, so that no server is asked for it (RFC 1035, 2.3.4)."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@contextmanager
def raw_server(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """Reads one request and gives the connection to ``serve`` with an event that is set at the end."""
    over = threading.Event()

    def run() -> None:
        with listening.accept()[0] as connection:
            connection.settimeout(10)
            read = b""
            while b"\r\n\r\n" not in read:
                read += connection.recv(65536)
            serve(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def refusal(shape: str, url: str, timeout_s: float = 5.0) -> ModelError:
    with opened(shape, url, timeout_s=timeout_s) as model, pytest.raises(ModelError) as caught:
        model.answer(request())
    return caught.value


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_that_trickles_in_is_given_up_as_a_whole(shape: str) -> None:
    """A byte each 50 ms keeps every single read within 0.3 s for 5 s."""
    sent = 0

    def trickle(connection: socket.socket, over: threading.Event) -> None:
        nonlocal sent
        connection.sendall(HEAD % len(BODY))
        for byte in BODY:
            if over.wait(0.05):
                return
            try:
                connection.sendall(bytes([byte]))
            except OSError:  # the client has left
                return
            sent += 1

    with raw_server(trickle) as url:
        assert refusal(shape, url, timeout_s=0.3).trouble is Trouble.TIMEOUT
    assert 0 < sent < len(BODY)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_that_breaks_off_may_have_been_billed(shape: str) -> None:
    def break_off(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(HEAD % len(BODY) + BODY[: len(BODY) // 2])

    with raw_server(break_off) as url:
        error = refusal(shape, url)
    assert error.trouble is Trouble.MALFORMED
    assert "broke off" in str(error)
    assert not error.unreached


@pytest.mark.parametrize("shape", SHAPES)
def test_a_connection_that_closes_before_the_answer_is_no_answer(shape: str) -> None:
    with raw_server(lambda _connection, _over: None) as url:
        error = refusal(shape, url)
    assert error.trouble is Trouble.UNAVAILABLE
    assert not error.unreached


@pytest.mark.parametrize("shape", SHAPES)
def test_a_host_that_takes_no_connection_is_unreached(shape: str) -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):  # they fill what the kernel takes for a server that accepts nobody
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        error = refusal(shape, f"http://127.0.0.1:{full.getsockname()[1]}", timeout_s=0.3)
    assert error.unreached
    assert "no connection in time" in str(error)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", NOWHERE], ids=["refused", "unknown"])
def test_a_refused_connection_and_a_name_that_is_unknown_are_unreached(shape: str, url: str) -> None:
    error = refusal(shape, url)
    assert error.trouble is Trouble.UNAVAILABLE
    assert error.unreached
    assert "no connection: " in str(error)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_key_goes_to_no_other_host(shape: str) -> None:
    with FakeProvider(lambda _: Reply(text="mine now")) as elsewhere:

        def away(ask: Ask) -> Reply:
            return Reply(status=307, headers={"Location": f"{elsewhere.anthropic_url}/v1/messages"})

        with FakeProvider(away) as provider:
            assert refusal(shape, provider.anthropic_url).trouble is Trouble.BAD_REQUEST
    assert elsewhere.asks == []
