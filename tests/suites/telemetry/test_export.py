"""Exports of TokenJam and plain lists of turns hold the same calls as the store they came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.telemetry import AT, span
from tjbench.errors import UsageError
from tjbench.pricing import Usage
from tjbench.suites.telemetry import Selection, open_history
from tjbench.suites.telemetry.turn import Census, Fate, Turn

OPENAI = ("openai", "big")


def exported(row: dict[str, Any]) -> dict[str, Any]:
    """A span as `tj export --format json` writes it: no session, no cached tokens, attributes nested."""
    kept = ("span_id", "trace_id", "agent_id", "name", "duration_ms", "cost_usd", "input_tokens", "output_tokens")
    about = {name: row[name] for name in (*kept, "status_code", "provider", "model", "attributes")}
    return {**about, "start_time": row["start_time"].isoformat(), "tool_name": None}


def lines(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read(
    path: Path, selection: Selection | None = None, original: tuple[str, str] | None = None
) -> tuple[list[Turn], Census]:
    selection = selection or Selection()
    with open_history(path, selection, original) as history:
        return list(history.turns(selection)), history.census


def test_spans_of_an_export_are_calls_with_their_cost_and_time(tmp_path: Path) -> None:
    prompt = json.dumps([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    tool = exported(span(2, model=None, name="gen_ai.tool.call"))
    turns, census = read(lines(tmp_path / "e.jsonl", [exported(span(1, prompt, "say")), tool]))
    (turn,) = turns
    assert census.total == 1
    assert [(message.role, message.content) for message in turn.messages] == [("system", "S"), ("user", "U")]
    assert (turn.original, turn.answer, turn.cost_usd, turn.latency_s) == ("openai:big", "say", 0.0013, 1.5)
    assert turn.usage == Usage(input=100, output=10)
    assert turn.at == AT + timedelta(minutes=1)


def test_every_span_of_an_export_meets_one_fate(tmp_path: Path) -> None:
    rows = [
        span(1, "ask", "say", attributes={"gen_ai.response.id": "r"}),
        span(2, attributes={"gen_ai.response.id": "r"}),
        span(3, "ask", ""),
        span(4, "ask"),
        span(5, None, "say"),
        span(6),
        span(7, attributes={"gen_ai.input.messages": "[]"}),
        span(8, "ask", attributes={"gen_ai.request.stream": True}),
        span(9, "ask", "say", status_code="error"),
        span(10, [{"role": "user", "content": [{"type": "image"}]}], "say"),
        span(11, "ask", "say", agent_id="other"),
    ]
    _, census = read(lines(tmp_path / "e.jsonl", [exported(row) for row in rows]), Selection(agent="shop"))
    once = set(Fate) - {Fate.TOOLS_ONLY, Fate.NO_MODEL}
    assert dict(+census.fates) == dict.fromkeys(once, 1)


def test_a_span_that_stands_twice_is_one_call(tmp_path: Path) -> None:
    row = exported(span(1, "ask", "say"))
    turns, census = read(lines(tmp_path / "e.jsonl", [row, row]))
    assert (len(turns), census.fates[Fate.DUPLICATE]) == (1, 1)


def test_a_list_in_one_document_reads_like_one_object_a_line(tmp_path: Path) -> None:
    rows = [exported(span(n, "ask", f"say {n}")) for n in (2, 1)]
    (tmp_path / "e.json").write_text(json.dumps(rows, indent=2))
    assert [turn.answer for turn in read(tmp_path / "e.json")[0]] == ["say 1", "say 2"]
    assert read(tmp_path / "e.json")[0] == read(lines(tmp_path / "e.jsonl", rows))[0]


def test_conversations_of_openevals_give_each_answer_with_the_prompt_before_it(tmp_path: Path) -> None:
    inner = json.dumps([{"role": "user", "content": "one"}])
    trace = {
        "trace_id": "t",
        "agent_id": "shop",
        "messages": [
            {"role": "user", "content": inner},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "unanswered"},
            {"role": "assistant", "content": "", "tool_calls": [{"name": "find"}]},
            {"role": "tool", "content": "found"},
            {"role": "user", "content": "two"},
            {"role": "assistant", "content": "2"},
            {"role": "assistant", "content": "alone"},
        ],
    }
    (tmp_path / "e.json").write_text(json.dumps([trace]))
    turns, census = read(tmp_path / "e.json", original=OPENAI)
    assert [(turn.messages[0].content, turn.answer) for turn in turns] == [("one", "1"), ("two", "2")]
    assert (census.fates[Fate.NO_ANSWER], census.fates[Fate.NO_PROMPT]) == (1, 1)
    assert turns[0].original == "openai:big"
    assert len({turn.id for turn in turns}) == 2


def test_what_names_no_model_is_counted_so_unless_one_is_said(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", [{"prompt": "ask", "output": "say"}])
    assert read(path)[1].fates == {Fate.NO_MODEL: 1}
    assert read(path, original=OPENAI)[0][0].original == "openai:big"


@pytest.mark.parametrize("asked", [{"prompt": "ask"}, {"messages": [{"role": "user", "content": "ask"}]}])
@pytest.mark.parametrize("named", ["answer", "output", "completion", "response"])
def test_plain_turns_are_read_by_their_usual_names(tmp_path: Path, asked: dict[str, object], named: str) -> None:
    record = {**asked, named: "say", "model": "openai:big", "input_tokens": 3, "cache_tokens": 4, "at": "2026-11-01"}
    (turn,), _ = read(lines(tmp_path / "t.jsonl", [record]))
    assert (turn.messages[0].content, turn.answer, turn.original) == ("ask", "say", "openai:big")
    assert turn.usage == Usage(input=3, cache_read=4)
    assert turn.at == datetime(2026, 11, 1, tzinfo=UTC)


def test_equal_turns_are_as_many_calls_and_their_ids_do_not_depend_on_text_alone(tmp_path: Path) -> None:
    record = {"prompt": "ask", "output": "say", "model": "openai:big"}
    turns, _ = read(lines(tmp_path / "t.jsonl", [record, record]))
    assert len({turn.id for turn in turns}) == 2


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"prompt": "ask"}\n\n{broken\n')
    with pytest.raises(UsageError, match=r"t\.jsonl, line 3 is not JSON"):
        read(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_text("7\n")
    with pytest.raises(UsageError, match="no object"):
        read(tmp_path / "t.jsonl")


def test_a_byte_order_mark_and_half_a_character_are_no_trouble(tmp_path: Path) -> None:
    record = '{"prompt": "a\\ud800", "output": "say", "model": "openai:big"}'
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + record.encode() + b"\r\n")
    assert read(tmp_path / "t.jsonl")[0][0].messages[0].content == "a?"
