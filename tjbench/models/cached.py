"""Answers kept on disk as they arrive, so that nothing paid for is lost or paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError, UsageError
from tjbench.models.model import Finish, Model, Request, Response
from tjbench.pricing import Usage

_BEGINS = b'{"key":"'
"""Every line of a journal begins so, also one that a crash cut short later."""


class Journal:
    """An append-only file of answers, one JSON line each, shared by threads and by processes.

    A line is on the disk before ``append`` returns. A line that a crash cut short is skipped. What another process
    adds meanwhile is found too. With ``reuse`` off nothing is found, but everything is still kept. ``look_only`` keeps
    nothing, and finds nothing where there is no file. Only offsets stay in memory. Raises ``UsageError`` where the file
    cannot be opened or is no journal.
    """

    def __init__(self, directory: Path, *, reuse: bool = True, look_only: bool = False) -> None:
        self._path = directory / "answers.jsonl"
        self._reuse = reuse
        self._look_only = look_only
        self._writing = threading.Lock()
        self._syncing = threading.Lock()
        self._written = self._synced = 0
        self._read_to = 0
        self._offsets: dict[str, tuple[int, int]] = {}
        self._fd = -1
        try:
            if look_only and not self._path.exists():
                return
            directory.mkdir(parents=True, exist_ok=True)
            # Without O_NONBLOCK the opening of a pipe waits for a reader.
            flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            flags |= os.O_RDONLY if look_only else os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._fd = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise UsageError(
                f"the journal {self._path} cannot be opened",
                why=error.strerror or str(error),
                fix="name another directory",
            ) from None
        try:
            self._require_journal()
            self._catch_up()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._offsets)

    def find(self, key: str) -> Response | None:
        """The kept complete answer for ``key``, marked as reused and with its original usage and latency."""
        if not self._reuse or self._fd < 0:
            return None
        where = self._offsets.get(key)
        if where is None and os.fstat(self._fd).st_size > self._read_to:
            self._catch_up()
            where = self._offsets.get(key)
        if where is None:
            return None
        offset, length = where
        record = _record(os.pread(self._fd, length, offset))
        try:
            return _response(record) if record else None
        except (TypeError, ValueError):  # a line that a hand has changed; the call is made again
            return None

    def append(self, key: str, spec: ModelSpec, request: Request, response: Response) -> None:
        """Keeps one finished call; raises ``IncompleteError`` when the disk does not take it."""
        record = {
            "key": key,
            "model": str(spec),
            "task_id": request.task_id,
            "sample": request.sample,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "text": response.text,
            "usage": response.usage and asdict(response.usage),
            "finish": response.finish,
            "latency_s": response.latency_s,
            "request_id": response.request_id,
            "sent": dict(response.sent) if response.sent is not None else None,
        }
        # ASCII, since an answer may hold lone surrogates, which UTF-8 cannot carry.
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
        try:
            mine = self._write(key, line, complete=response.finish is Finish.STOP)
            self._sync(mine)
        except OSError as error:
            raise IncompleteError(
                f"the journal {self._path} cannot be written",
                why=error.strerror or str(error),
                fix="make room and run again: the answers kept so far are reused",
            ) from None

    def _require_journal(self) -> None:
        """Nothing is appended to a file of somebody else's."""
        regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        begins = os.pread(self._fd, len(_BEGINS), 0) if regular else b""
        if not (regular and _BEGINS.startswith(begins)):
            raise UsageError(
                f"{self._path} is no journal",
                why="its first line is no answer that was kept here" if regular else "it is no regular file",
                fix="name another directory, or remove the file",
            )

    def _catch_up(self) -> None:
        """Learns of the lines that were added since the last look, by whichever process."""
        with self._writing, self._locked(), self._path.open("rb") as lines:
            lines.seek(self._read_to)
            for line in lines:
                record = _record(line)
                if record and record.get("finish") == Finish.STOP:
                    self._offsets[record["key"]] = (self._read_to, len(line))
                if line.endswith(b"\n"):
                    self._read_to += len(line)

    def _write(self, key: str, line: bytes, *, complete: bool) -> int:
        with self._writing, self._locked():
            offset = os.lseek(self._fd, 0, os.SEEK_END)
            torn = offset > 0 and os.pread(self._fd, 1, offset - 1) != b"\n"  # by a process that was killed
            try:
                left = b"\n" + line if torn else line
                while left:
                    left = left[os.write(self._fd, left) :]
            except OSError:
                os.ftruncate(self._fd, offset)
                raise
            if complete:
                self._offsets[key] = (offset + torn, len(line))
            if self._read_to == offset:
                self._read_to += torn + len(line)
            self._written += 1
            return self._written

    def _sync(self, mine: int) -> None:
        """Waits until the write numbered ``mine`` is on the disk; one flush serves all threads that wait for one."""
        with self._syncing:
            if self._synced < mine:
                upto = self._written
                os.fsync(self._fd)
                self._synced = upto

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        import fcntl

        fcntl.flock(self._fd, fcntl.LOCK_SH if self._look_only else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)


class CachedModel:
    """A model whose answers go into a journal and come from there when it holds them already.

    ``endpoint`` is the base URL: the same model behind another one is another model.
    """

    def __init__(self, model: Model, journal: Journal, *, endpoint: str) -> None:
        self._model = model
        self._journal = journal
        self._endpoint = endpoint

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def recall(self, request: Request) -> Response | None:
        """The kept answer to ``request``, if there is one; asks nobody."""
        return self._journal.find(request_key(self.spec, self._endpoint, request))

    def answer(self, request: Request) -> Response:
        key = request_key(self.spec, self._endpoint, request)
        kept = self._journal.find(key)
        if kept is not None:
            return kept
        response = self._model.answer(request)
        self._journal.append(key, self.spec, request, response)
        return response

    def close(self) -> None:
        self._model.close()


def request_key(spec: ModelSpec, endpoint: str, request: Request) -> str:
    """Names exactly one answer: provider, base URL, model, messages, sampling and the sample's number.

    Parameters count as they are asked for. What a model refuses of them is the same at every call, and each kept answer
    says what was really sent.
    """
    parts = [
        spec.provider,
        endpoint,
        spec.model,
        [dict(message) for message in request.messages],
        asdict(request.sampling),
        request.sample,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    wanted = isinstance(record, dict) and isinstance(record.get("key"), str) and isinstance(record.get("text"), str)
    return record if wanted else None


def _response(record: dict[str, Any]) -> Response:
    usage = record.get("usage")
    if usage and not all(type(tokens) is int and tokens >= 0 for tokens in usage.values()):
        raise ValueError("tokens are counted")
    return Response(
        text=record["text"],
        usage=Usage(**usage) if usage else None,
        finish=Finish(record["finish"]),
        latency_s=record.get("latency_s"),
        request_id=record.get("request_id"),
        sent=record.get("sent"),
        reused_from=f"journal {record.get('at', '')}".rstrip(),
    )
