"""Small TokenJam stores of our making, in the shape of 0.5.2 and of 0.7.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

AT = datetime(2026, 11, 1, tzinfo=UTC)
COLUMNS = {
    "span_id": "VARCHAR PRIMARY KEY",
    "trace_id": "VARCHAR",
    "session_id": "VARCHAR",
    "agent_id": "VARCHAR",
    "name": "VARCHAR",
    "status_code": "VARCHAR",
    "start_time": "TIMESTAMPTZ",
    "duration_ms": "DOUBLE",
    "attributes": "JSON",
    "provider": "VARCHAR",
    "model": "VARCHAR",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "cache_tokens": "BIGINT",
    "cost_usd": "DOUBLE",
    "cache_write_tokens": "BIGINT",
    "request_tools": "JSON",
}
NEWER = {"pricing_source": "VARCHAR", "ingested_at": "TIMESTAMPTZ"}
"""Columns that 0.5.2 does not have."""


def span(number: int, prompt: object = None, answer: object = None, **fields: Any) -> dict[str, Any]:
    """One call as TokenJam stores it; ``fields`` replace columns, and ``attributes`` add to its own."""
    text = {"gen_ai.prompt.content": prompt, "gen_ai.completion.content": answer}
    attributes = {key: value for key, value in text.items() if value is not None} | fields.pop("attributes", {})
    return {
        "span_id": f"{number:016x}",
        "trace_id": f"{number:032x}",
        "agent_id": "shop",
        "name": "gen_ai.llm.call",
        "status_code": "ok",
        "start_time": AT + timedelta(minutes=number),
        "duration_ms": 1500.0,
        "provider": "openai",
        "model": "big",
        "input_tokens": 100,
        "output_tokens": 10,
        "cost_usd": 0.0013,
        **fields,
        "attributes": attributes,
    }


def make_store(path: Path, spans: Sequence[dict[str, Any]], *, newer: bool = True) -> Path:
    """A store that holds ``spans``."""
    columns = {**COLUMNS, **NEWER} if newer else COLUMNS
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE spans ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        for row in spans:
            held = {name: value for name, value in row.items() if name in columns}
            held["attributes"] = json.dumps(row["attributes"])
            names, marks = ", ".join(held), ", ".join("?" for _ in held)
            connection.execute(f"INSERT INTO spans ({names}) VALUES ({marks})", list(held.values()))
    return path
