"""A history in a JSON file: spans as `tj export` writes them, its openevals conversations, or a plain list of turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from tjbench.errors import UsageError
from tjbench.suites.telemetry.conversation import NotText, conversation_of, text_of
from tjbench.suites.telemetry.selection import Selection
from tjbench.suites.telemetry.turn import UNNAMED, Census, Fate, Turn, hashed, usage_of

MOST_AT_ONCE = 256 << 20
"""A list in one JSON document is held whole, and so may not be larger; with one object a line there is no limit."""
_PROMPT, _ANSWER = "gen_ai.prompt.content", "gen_ai.completion.content"
_ELSEWHERE = ("input.value", "gen_ai.input.messages", "gen_ai.prompt.0.content")
_STREAMED = ("tokenjam.llm.streaming", "gen_ai.request.stream")
_ASKED = ("messages", "prompt", "input")
_ANSWERED = ("answer", "output", "completion", "response")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A record without its text: what decides its fate, and ``place``, where it is read again."""

    place: int
    part: int
    original: str
    at: datetime | None
    fate: Fate
    response: str | None = None
    rank: tuple[bool, bool, bool] = (False, False, False)


class Export:
    """The calls of a file; ``census`` and ``turns`` as a store has them. ``original`` is the model of records that
    name none, as ``(provider, model)``."""

    def __init__(self, path: Path, selection: Selection, original: tuple[str, str] | None) -> None:
        self._path = path
        self._original = original
        self._held: list[object] | None = None
        self.census = Census()
        with path.open("rb") as file:
            calls = [call for place, record in self._records(file) for call in self._calls(place, record, selection)]
        self._chosen = _without_duplicates(calls)
        for call in self._chosen:
            self.census.count(call.fate, call.original)

    def turns(self, selection: Selection) -> Iterator[Turn]:
        """What ``selection`` wants of the calls that were counted, in time as far as the records say."""
        wanted = [
            call
            for call in self._chosen
            if call.fate is Fate.REPLAYABLE and (selection.originals is None or call.original in selection.originals)
        ]
        first = datetime.min.replace(tzinfo=UTC)
        left = selection.limit
        with self._path.open("rb") as file:
            for call in sorted(wanted, key=lambda call: (call.at or first, call.place, call.part)):
                if left == 0:
                    return
                turn = self._turn(call, self._record_at(file, call.place))
                if turn is None:
                    self.census.withdraw(call.original)
                    continue
                left = None if left is None else left - 1
                yield turn

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, Any]]:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        file.seek(0)
        if start[:1] == b"[":
            yield from enumerate(self._list(file))
            return
        place = 0
        for number, line in enumerate(file, 1):
            if line.strip(b"\xef\xbb\xbf \t\r\n"):
                yield place, self._parsed(line, f"line {number}")
            place += len(line)

    def _list(self, file: BinaryIO) -> list[object]:
        content = file.read(MOST_AT_ONCE + 1)
        if len(content) > MOST_AT_ONCE:
            why = f"a list in one document may have {MOST_AT_ONCE >> 20} MiB"
            raise UsageError(f"{self._path} is too large", why=why, fix="write one object a line")
        value = self._parsed(content, "the list")
        self._held = value if isinstance(value, list) else [value]
        return self._held

    def _record_at(self, file: BinaryIO, place: int) -> Any:
        if self._held is not None:
            return self._held[place]
        file.seek(place)
        return self._parsed(file.readline(), f"at byte {place}")

    def _parsed(self, content: bytes, where: str) -> Any:
        try:
            return json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            why = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise UsageError(
                f"{self._path}, {where} is not JSON",
                why=why or type(error).__name__,
                fix="name a store of TokenJam, what tj export --format json writes, or turns, one object a line",
            ) from None

    def _calls(self, place: int, record: Any, selection: Selection) -> Iterator[_Call]:
        if not isinstance(record, dict):
            raise UsageError(f"{self._path} holds what is no object", why=f"record {place}: {type(record).__name__}")
        turns = _pairs(record) if _is_conversation(record) else [record]
        for part, turn in enumerate(turns):
            call = self._call(place, part, turn)
            if call is not None:
                at, agent = call.at, turn.get("agent_id", turn.get("agent"))
                early = selection.since is not None and (at is None or at < selection.since)
                other = selection.agent is not None and agent != selection.agent
                yield replace(call, fate=Fate.NOT_SELECTED) if early or other else call

    def _call(self, place: int, part: int, record: Mapping[str, Any]) -> _Call | None:
        """``None`` for a span that is no call of a model."""
        attributes = _attributes(record)
        named = self._named(record)
        if attributes is not None and not record.get("model"):
            return None
        asked, answer = _text(record, attributes)
        fate = Fate.NO_MODEL if named is None else _fate(record, attributes or {}, asked, answer)
        own = attributes or {}
        # A record that stands twice, as in exports put together, is one call too.
        response = (
            own.get("gen_ai.response.id")
            or own.get("tj.call_id")
            or (_own_id(record) and _identity(record, place, part))
        )
        return _Call(
            place=place,
            part=part,
            original=":".join(named or (UNNAMED, UNNAMED)),
            at=_instant(record),
            fate=fate,
            response=str(response) if response else None,
            rank=(answer is not None, asked is not None, record.get("name") == "gen_ai.llm.call"),
        )

    def _named(self, record: Mapping[str, Any]) -> tuple[str, str] | None:
        model, provider = record.get("model"), record.get("provider")
        if isinstance(model, str) and model:
            before, colon, after = model.partition(":")
            if not provider and colon and _attributes(record) is None:
                return before, after
            return str(provider or UNNAMED), model
        return self._original

    def _turn(self, call: _Call, record: Mapping[str, Any]) -> Turn | None:
        record = _pairs(record)[call.part] if _is_conversation(record) else record
        asked, answer = _text(record, _attributes(record))
        try:
            conversation, text = conversation_of(asked), text_of(answer)
        except NotText:
            return None
        identity = _identity(record, call.place, call.part)
        provider, model = self._named(record) or (UNNAMED, UNNAMED)
        duration = record.get("duration_ms")
        return Turn(
            id=hashed(identity),
            salt=identity,
            provider=provider,
            model=model,
            messages=conversation.messages,
            answer=text,
            usage=usage_of(*(_count(record, name) for name in _TOKENS)),
            cost_usd=_amount(record.get("cost_usd")),
            at=call.at,
            latency_s=None if (held := _amount(duration)) is None else held / 1000,
            has_tools=conversation.has_tools,
        )


_TOKENS = ("input_tokens", "output_tokens", "cache_tokens", "cache_write_tokens")


def _without_duplicates(calls: Sequence[_Call]) -> list[_Call]:
    """Of several records of one response the best stays what it is, and the others are duplicates."""
    best: dict[str, _Call] = {}
    for call in calls:
        if call.response and call.fate is not Fate.NOT_SELECTED:
            held = best.get(call.response)
            if held is None or call.rank > held.rank:
                best[call.response] = call
    return [
        call
        if call.response is None or call.fate is Fate.NOT_SELECTED or best[call.response] is call
        else replace(call, fate=Fate.DUPLICATE)
        for call in calls
    ]


def _fate(record: Mapping[str, Any], attributes: Mapping[str, Any], asked: object, answer: object) -> Fate:
    if str(record.get("status_code", "")).lower() == "error":
        return Fate.ERRORED
    if asked is not None and answer is not None:
        is_empty = answer == [] or (isinstance(answer, str) and not answer.strip())
        return Fate.EMPTY_ANSWER if is_empty else Fate.REPLAYABLE
    if any(str(attributes.get(name)).lower() == "true" for name in _STREAMED):
        return Fate.STREAMED
    if asked is not None:
        return Fate.NO_ANSWER
    if answer is not None:
        return Fate.NO_PROMPT
    return Fate.OTHER_KEYS if any(name in attributes for name in _ELSEWHERE) else Fate.NO_TEXT


def _attributes(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A span's attributes, which some writers keep as JSON text; ``None`` where the record is no span."""
    held = record.get("attributes")
    if isinstance(held, str):
        try:
            held = json.loads(held)
        except ValueError:
            return {}
    return held if isinstance(held, dict) else None


def _text(record: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> tuple[object, object]:
    if attributes is not None:
        return attributes.get(_PROMPT), attributes.get(_ANSWER)
    asked = next((record[name] for name in _ASKED if record.get(name) is not None), None)
    return asked, next((record[name] for name in _ANSWERED if record.get(name) is not None), None)


def _is_conversation(record: Mapping[str, Any]) -> bool:
    """Whether the record is a trace as openevals takes it: its messages hold the answers too."""
    return isinstance(record.get("messages"), list) and not any(record.get(name) is not None for name in _ANSWERED)


def _pairs(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each recorded prompt of a trace with the answer right behind it; a prompt, or an answer, alone is one as well."""
    about = {name: value for name, value in record.items() if name != "messages"}
    pairs: list[dict[str, Any]] = []
    for message in record["messages"]:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "user":
            pairs.append({**about, "prompt": message.get("content")})
        elif message.get("role") == "assistant" and message.get("content"):
            if pairs and "prompt" in pairs[-1] and "answer" not in pairs[-1]:
                pairs[-1]["answer"] = message["content"]
            else:
                pairs.append({**about, "answer": message["content"]})
    return pairs


def _identity(record: Mapping[str, Any], place: int, part: int) -> str:
    """What tells the call from all others: its own id, else its place and all that it holds."""
    if own := _own_id(record):
        return f"{own}/{part}" if part else own
    return json.dumps([record, 0 if "trace_id" in record else place, part], sort_keys=True, default=str)


def _own_id(record: Mapping[str, Any]) -> str:
    return str(record.get("span_id") or record.get("id") or "")


def _instant(record: Mapping[str, Any]) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(record.get("start_time") or record.get("at")))
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _count(record: Mapping[str, Any], name: str) -> int | None:
    value = record.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
