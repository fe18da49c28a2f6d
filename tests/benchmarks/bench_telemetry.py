"""A store of 200,000 calls read by us beside DuckDB's own scan of the same columns: time and peak memory.

    python -m tests.benchmarks.bench_telemetry [CALLS]

Every reading is a process of its own, three times each, and the medians are compared. DuckDB's scan fetches the same
columns of every call in the same portions and does nothing with them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb

from tests.fakes.telemetry import COLUMNS, NEWER
from tjbench.suites.telemetry import Selection, open_history
from tjbench.suites.telemetry.store import ROWS

CALLS = 200_000
ROUNDS = 3
_FILL = """
INSERT INTO spans BY NAME
SELECT printf('%016x', n) AS span_id, printf('%032x', n // 5) AS trace_id, 'shop' AS agent_id,
  'gen_ai.llm.call' AS name, 'ok' AS status_code, 900.0 AS duration_ms,
  TIMESTAMPTZ '2026-11-01 00:00:00+00' + to_seconds(n) AS start_time,
  'anthropic' AS provider, CASE n % 3 WHEN 0 THEN 'claude-opus-4-8' ELSE 'claude-sonnet-4-6' END AS model,
  100 + n % 900 AS input_tokens, 5 + n % 90 AS output_tokens, 0.001 AS cost_usd,
  CASE n % 4 WHEN 0 THEN json_object('gen_ai.response.id', 'msg_' || (n // 8))
  ELSE json_object('gen_ai.response.id', 'msg_' || (1000000 + n), 'gen_ai.prompt.content',
    to_json([{{'role': 'system', 'content': 'Answer in one word.'}},
             {{'role': 'user', 'content': 'Question ' || n || repeat(' some words of a customer', {words})}}])::VARCHAR,
    'gen_ai.completion.content', 'Answer ' || n || repeat(' and more', 20)) END AS attributes
FROM range({calls}) AS r(n)
"""
_SCAN = """
SELECT span_id, provider, model, start_time, attributes, input_tokens, output_tokens, cache_tokens, cache_write_tokens,
  cost_usd, duration_ms, pricing_source FROM spans
"""


def make(path: Path, calls: int) -> None:
    """A store of ``calls`` calls, made by DuckDB itself: three of four with text of about 1 kB."""
    with duckdb.connect(str(path)) as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in {**COLUMNS, **NEWER}.items())
        connection.execute(f"CREATE TABLE spans ({columns})")
        connection.execute(_FILL.format(calls=calls, words=36))


def scan(path: Path) -> int:
    """DuckDB's own."""
    rows = 0
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute(_SCAN)
        while chunk := found.fetchmany(ROWS):
            rows += len(chunk)
    return rows


def read(path: Path, limit: int | None = None) -> int:
    """Ours: every call counted by its fate, every turn made."""
    with open_history(path, Selection()) as history:
        turns = sum(1 for _ in history.turns(Selection(limit=limit)))
        assert limit is not None or turns == history.census.total * 3 // 4
    return turns


WAYS: dict[str, Callable[[Path], int]] = {
    "DuckDB's scan": scan,
    "all turns": read,
    "the first 100": lambda path: read(path, 100),
}


def timed(way: str, path: Path) -> tuple[float, float]:
    """Seconds and peak MiB of one reading in a process of its own, without its start."""
    done = subprocess.run([sys.executable, "-m", __spec__.name, way, str(path)], check=True, capture_output=True)
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def child(way: str, path: Path) -> None:
    started = time.perf_counter()
    WAYS[way](path)
    seconds = time.perf_counter() - started
    # Linux: ru_maxrss would count what the parent held when it forked.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak is not None
    print(json.dumps([seconds, int(peak[1]) / 1024]))


def main(calls: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        stores = {count: Path(scratch) / f"{count}.duckdb" for count in (calls // 10, calls)}
        for count, path in stores.items():
            make(path, count)
        for count, path in stores.items():
            found = {way: [timed(way, path) for _ in range(ROUNDS)] for way in WAYS}
            base = median(seconds for seconds, _ in found["DuckDB's scan"])
            print(f"{count:,} calls, {path.stat().st_size >> 20} MiB")
            for way, runs in found.items():
                seconds = median(run[0] for run in runs)
                peak = median(run[1] for run in runs)
                print(f"  {way:<14} {seconds:6.2f} s  {seconds / base:5.2f} x  peak {peak:5.0f} MiB")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
