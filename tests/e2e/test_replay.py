"""Histories that tokenjam itself wrote, replayed on a model that really answers, also while tokenjam serves them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.shared import shared

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 60
CALL = {
    "traceId": "aa" * 16,
    "spanId": "aa" * 8,
    "name": "gen_ai.llm.call",
    "kind": 3,
    "startTimeUnixNano": "1796000000000000000",
    "endTimeUnixNano": "1796000001000000000",
    "status": {"code": 1},
    "attributes": [
        {"key": "gen_ai.provider.name", "value": {"stringValue": "anthropic"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "claude-opus-4-8"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "11"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "1"}},
        {"key": "gen_ai.prompt.content", "value": {"stringValue": "What is 7 + 9?"}},
        {"key": "gen_ai.completion.content", "value": {"stringValue": "16"}},
    ],
}


def replay(directory: Path, model_server: str, telemetry: Path, *words: str) -> dict[str, Any]:
    """What `tjb replay --json` prints, in a process with nothing but the model's address."""
    environ = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environ |= {"HOME": str(directory), "PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": model_server}
    command = [sys.executable, "-m", "tests.fakes.tjb", "replay", "--telemetry", str(telemetry), "--json"]
    done = subprocess.run(
        [*command, "--candidate", "openai:smollm2", "--max-tokens", "24", "--concurrency", "2", *words],
        cwd=directory,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr  # a small model rambles, and a cut answer may be unscored
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(
    ("name", "replayable", "with_text"), [("telemetry_0_7_0.duckdb", 48, 49), ("telemetry_0_5_2.duckdb", 23, 24)]
)
def test_both_stores_are_replayed_on_a_real_model(
    tmp_path: Path, model_server: str, name: str, replayable: int, with_text: int
) -> None:
    store = shared(f"telemetry/{name}")
    before = store.read_bytes()
    found = replay(tmp_path, model_server, store, "--limit", "4", "--agent", "manual-bot")
    assert found["n_tasks"] == 4
    for artifact in found["artifacts"]:
        assert artifact["mock"] is False
        assert artifact["verdict"] == "insufficient_evidence"
        assert artifact["verdict_reason"].startswith("no control: ")
        for task in artifact["tasks"]:
            assert task["candidate"]["usage"]["output"] > 0
    whole = replay(tmp_path, model_server, store, "--mock")
    assert (whole["n_tasks"], whole["telemetry"]["n_calls"]) == (replayable, 84)
    assert (whole["telemetry"]["with_text"], whole["telemetry"]["fates"]["replayable"]) == (with_text, replayable)
    assert store.read_bytes() == before


def test_with_a_control_both_models_really_answer(tmp_path: Path, model_server: str) -> None:
    found = replay(
        tmp_path,
        model_server,
        shared("telemetry/telemetry_0_7_0.duckdb"),
        "--agent",
        "unknown",
        "--limit",
        "3",
        "--control",
    )
    (artifact,) = (artifact for artifact in found["artifacts"] if artifact["original_model"] == "openai:gpt-4o")
    assert artifact["replay"]["control"] is True
    assert all(task[side]["usage"]["output"] > 0 for task in artifact["tasks"] for side in ("original", "candidate"))


@contextmanager
def served(directory: Path, store: Path) -> Iterator[str]:
    """The real `tj serve` over ``store``; yields its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = directory / "tokenjam.toml"
    config.write_text(
        f'version = "1"\n[storage]\npath = "{store}"\n[capture]\nprompts = true\ncompletions = true\n'
        f'[security]\ningest_secret = "secret"\n[api]\nhost = "127.0.0.1"\nport = {port}\n'
        "[export.prometheus]\nenabled = false\n[alerts]\nchannels = []\n"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory), "TJ_CONFIG": str(config)}
    command = [str(Path(sys.executable).with_name("tj")), "serve", "--port", str(port)]
    with (
        (directory / "serve.log").open("w") as log,
        subprocess.Popen(command, cwd=directory, env=environ, stdout=log, stderr=log) as server,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}/api/v1/status", server, directory / "serve.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_a_store_that_tj_serve_holds_is_read_with_the_call_it_just_took(tmp_path: Path, model_server: str) -> None:
    store = tmp_path / "held.duckdb"
    shutil.copyfile(shared("telemetry/telemetry_0_7_0.duckdb"), store)
    with served(tmp_path, store) as url:
        body = json.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [CALL]}]}]})
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/v1/spans", body.encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as response:
            assert json.load(response)["ingested"] == 1
        found = replay(tmp_path, model_server, store, "--limit", "2", "--since", "2026-11-29")
        assert found["telemetry"]["n_calls"] == 85
        whole = replay(tmp_path, model_server, store, "--mock")
        assert whole["telemetry"]["fates"]["replayable"] == 49
