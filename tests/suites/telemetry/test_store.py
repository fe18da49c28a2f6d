"""A store is read whole, without a trace, also while TokenJam holds it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.duckdb_file import make_newer
from tests.fakes.shared import shared
from tests.fakes.telemetry import AT, make_store, span
from tjbench.errors import UsageError
from tjbench.pricing import Usage
from tjbench.suites.telemetry import Selection, open_history
from tjbench.suites.telemetry.turn import Census, Fate, Turn

HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("SET wal_autocheckpoint = '1GB'")
connection.execute("INSERT INTO spans SELECT * REPLACE ('00000000000000ff' AS span_id) FROM spans LIMIT 1")
print("held", flush=True)
sys.stdin.read()
"""


def read(path: Path, selection: Selection | None = None) -> tuple[list[Turn], Census]:
    selection = selection or Selection()
    with open_history(path, selection) as history:
        return list(history.turns(selection)), history.census


@pytest.mark.parametrize(
    ("name", "replayable", "with_text"), [("telemetry_0_7_0.duckdb", 48, 49), ("telemetry_0_5_2.duckdb", 23, 24)]
)
def test_stores_that_tokenjam_wrote_hold_what_the_facts_say(name: str, replayable: int, with_text: int) -> None:
    turns, census = read(shared(f"telemetry/{name}"))
    assert (len(turns), census.fates[Fate.REPLAYABLE], census.with_text) == (replayable, replayable, with_text)
    assert census.total == 84


def test_the_recorded_models_of_the_newer_store_are_those_of_the_facts() -> None:
    _, census = read(shared("telemetry/telemetry_0_7_0.duckdb"))
    held = census.replayable
    assert held["anthropic:claude-opus-4-8"] == 22  # 23 with one empty answer
    assert held["anthropic:claude-sonnet-4-5-20250929"] == 8
    assert held["openai:gpt-4o"] == 4
    assert held["unknown:claude-opus-4-8"] == 1
    assert len(held) == 16


CASES = {
    Fate.REPLAYABLE: span(1, "ask", "say"),
    Fate.EMPTY_ANSWER: span(2, "ask", " \n"),
    Fate.NO_ANSWER: span(3, "ask"),
    Fate.TOOLS_ONLY: span(4, "ask", request_tools='{"tools": []}'),
    Fate.NO_PROMPT: span(5, None, "say"),
    Fate.NO_TEXT: span(6),
    Fate.OTHER_KEYS: span(7, attributes={"input.value": "ask", "output.value": "say"}),
    Fate.STREAMED: span(8, "ask", attributes={"tokenjam.llm.streaming": True}),
    Fate.ERRORED: span(9, "ask", "say", status_code="error"),
    Fate.UNREADABLE: span(10, [{"role": "user", "content": [{"type": "image"}]}], "say"),
}


@pytest.mark.parametrize("newer", [True, False])
def test_every_call_is_counted_once_by_what_became_of_it(tmp_path: Path, newer: bool) -> None:
    tools = span(20, model=None, name="gen_ai.tool.call", provider=None)
    turns, census = read(make_store(tmp_path / "t.duckdb", [*CASES.values(), tools], newer=newer))
    assert dict(+census.fates) == dict.fromkeys(CASES, 1)
    assert [turn.answer for turn in turns] == ["say"]


def test_of_two_records_of_one_response_the_one_with_the_answer_counts_and_tokens_are_its_own(tmp_path: Path) -> None:
    own = span(2, "ask", "say", attributes={"gen_ai.response.id": "msg_1"}, input_tokens=20, cache_tokens=2048)
    sdk = span(1, name="messages.create", attributes={"gen_ai.response.id": "msg_1"}, input_tokens=2068)
    turns, census = read(make_store(tmp_path / "t.duckdb", [sdk, own]))
    assert census.fates == {Fate.REPLAYABLE: 1, Fate.DUPLICATE: 1, Fate.NOT_SELECTED: 0}
    assert turns[0].usage == Usage(input=20, output=10, cache_read=2048)


def test_records_of_one_response_are_told_by_tokenjams_own_id_too(tmp_path: Path) -> None:
    spans = [span(n, "ask", "say", attributes={"tj.call_id": "call_1"}) for n in (1, 2, 3)]
    _, census = read(make_store(tmp_path / "t.duckdb", spans))
    assert (census.fates[Fate.REPLAYABLE], census.fates[Fate.DUPLICATE]) == (1, 2)


def test_a_selection_leaves_out_and_counts_what_it_left(tmp_path: Path) -> None:
    spans = [span(n, "ask", f"say {n}", agent_id="shop" if n % 2 else "other") for n in range(1, 9)]
    path = make_store(tmp_path / "t.duckdb", spans)
    turns, census = read(path, Selection(agent="shop", since=AT + timedelta(minutes=4)))
    assert sorted(turn.answer for turn in turns) == ["say 5", "say 7"]
    assert (census.total, census.fates[Fate.NOT_SELECTED]) == (8, 6)


def test_a_limit_takes_the_first_in_time_and_steps_over_what_is_no_text(tmp_path: Path) -> None:
    image = [{"role": "user", "content": [{"type": "image"}]}]
    late = [span(n, "ask", f"say {n}") for n in range(240, 0, -1)]
    unreadable = [span(500 + n, image, "say", start_time=AT) for n in range(150)]
    turns, census = read(make_store(tmp_path / "t.duckdb", [*late, *unreadable]), Selection(limit=3))
    assert [turn.answer for turn in turns] == ["say 1", "say 2", "say 3"]
    assert census.fates[Fate.UNREADABLE] == 150


def test_ids_name_the_record_and_say_nothing_of_its_text(tmp_path: Path) -> None:
    spans = [span(1, "secret", "word"), span(2, "secret", "word")]
    turns, _ = read(make_store(tmp_path / "t.duckdb", spans))
    assert len({turn.id for turn in turns}) == 2
    assert all(len(turn.id) == 16 and turn.id not in turn.salt for turn in turns)


def test_a_store_is_not_changed_by_reading_it(tmp_path: Path) -> None:
    path = make_store(tmp_path / "t.duckdb", list(CASES.values()))
    before = hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns
    path.chmod(0o444)
    read(path)
    assert (hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns) == before
    assert [found.name for found in tmp_path.iterdir()] == ["t.duckdb"]


@pytest.mark.parametrize("named", ["t.duckdb", "link.duckdb"])
def test_a_store_that_another_process_holds_is_read_with_what_it_has_not_merged_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    path = make_store(tmp_path / "t.duckdb", [span(1, "ask", "say")])
    (tmp_path / "link.duckdb").symlink_to(path)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        wal = path.with_name("t.duckdb.wal")
        before = path.read_bytes(), wal.read_bytes()
        with open_history(tmp_path / named, Selection()) as history:
            assert [found.stat().st_mode & 0o777 for found in scratch.iterdir()] == [0o700]
            assert history.census.fates[Fate.REPLAYABLE] == 2
        assert (path.read_bytes(), wal.read_bytes()) == before
        holder.stdin.close()
    assert list(scratch.iterdir()) == []


def test_a_store_of_a_newer_duckdb_says_so_and_what_to_do(tmp_path: Path) -> None:
    path = make_store(tmp_path / "t.duckdb", [span(1, "ask", "say")])
    make_newer(path)
    with pytest.raises(UsageError, match="newer DuckDB") as refused:
        read(path)
    assert "pip install --upgrade duckdb" in refused.value.fix
    assert "tj export" in refused.value.fix


def test_a_damaged_store_is_one_clear_error(tmp_path: Path) -> None:
    path = make_store(tmp_path / "t.duckdb", [span(1, "ask", "say")])
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(UsageError, match=r"t\.duckdb cannot be read"):
        read(path)


def test_a_database_of_something_else_is_named(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE spans (span_id VARCHAR, model VARCHAR)")
    with pytest.raises(UsageError, match="no TokenJam store") as refused:
        read(tmp_path / "t.duckdb")
    assert refused.value.why == "its table spans lacks provider, start_time, attributes"


def test_a_file_that_is_no_store_and_one_that_is_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.duckdb").write_text("hello")
    for name, words in (("t.duckdb", "no TokenJam store"), ("u.duckdb", "cannot read"), (".", "is a directory")):
        with pytest.raises(UsageError, match=words):
            read(tmp_path / name)


def test_strange_numbers_are_taken_as_not_recorded(tmp_path: Path) -> None:
    spans = [
        span(1, "ask", "say", input_tokens=None, output_tokens=None, cost_usd=None),
        span(2, "ask", "say", input_tokens=0, output_tokens=0),
        span(3, "ask", "say", input_tokens=-5, output_tokens=7, duration_ms=-1.0),
    ]
    turns, _ = read(make_store(tmp_path / "t.duckdb", spans), Selection(limit=9))
    assert [turn.usage for turn in turns] == [None, None, Usage(output=7)]
    assert turns[2].latency_s is None


def test_text_of_every_kind_comes_through(tmp_path: Path) -> None:
    text = "naïve “café” 🧪 \u202eRTL\u202c \x01 " + "x" * 60_000
    turns, _ = read(make_store(tmp_path / "t.duckdb", [span(1, json.dumps([{"role": "user", "content": text}]), text)]))
    assert (turns[0].messages[0].content, turns[0].answer) == (text, text)


def test_an_id_is_the_same_from_a_store_and_from_an_export_of_it(tmp_path: Path) -> None:
    row = span(1, "ask", "say")
    (turn,), _ = read(make_store(tmp_path / "t.duckdb", [row]))
    exported = {**row, "start_time": row["start_time"].isoformat()}
    (tmp_path / "t.jsonl").write_text(json.dumps(exported))
    assert read(tmp_path / "t.jsonl")[0] == [turn]
