"""A whole run over the real SDKs against a provider that fails in every way it can."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import make_tokenjam
from tests.models.test_transport import NOWHERE
from tjbench.config import ModelSpec, config_of
from tjbench.errors import ExitCode
from tjbench.models.model import Trouble
from tjbench.run import RunRequest, run_once
from tjbench.runner.patience import Patience
from tjbench.workplace import RunOptions, Workplace

CANARY = "sk-canary-5f0c9a7e1b-do-not-show"
TASKS = 80
WRONG = {"big": {7}, "small": {3, 7, 50, 51}}
SOON = Patience(
    tries={Trouble.RATE_LIMIT: 12, Trouble.UNAVAILABLE: 6, Trouble.TIMEOUT: 6, Trouble.MALFORMED: 6},
    first_s=0.01,
    most_s=0.05,
    ask_s=1.5,
    growth_pause_s=0.1,
    proving_s=0.2,
)
IMPATIENT = replace(SOON, tries={}, connect_s=0.1, start_s=0.1)
PAGE = "<!doctype html><title>502</title><h1>Bad gateway</h1><pre>%s</pre>"
FAULTS: dict[str, tuple[float, Callable[[str, str], Reply]]] = {
    # each with its share of all askings; every one shows the caller's key where it can
    "rate limit": (
        0.10,
        lambda _, key: Reply(status=429, message=f"{key} asks too often", headers={"Retry-After-Ms": "20"}),
    ),
    "unavailable": (0.05, lambda _, key: Reply(status=503, message=f"overloaded by {key}")),
    "reset": (0.03, lambda _, _key: Reply(reset=True)),
    "slow body": (0.01, lambda text, _: Reply(text=text, body_s=30)),
    "truncated JSON": (0.02, lambda _, key: Reply(raw=f'{{"id": "{key}", "choices": [{{"mess')),
    "page": (0.02, lambda _, key: Reply(raw=PAGE % key, content_type="text/html")),
    "page with a status": (0.01, lambda _, key: Reply(status=502, raw=PAGE % key, content_type="text/html")),
}


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(4))
        yield opened


class Faulty:
    """Adds like any model, but fails by a draw that follows from the call and how often it was made."""

    def __init__(self, *, faults: bool) -> None:
        self._faults = faults
        self._lock = threading.Lock()
        self._asked: Counter[tuple[str, str]] = Counter()
        self.failed: Counter[str] = Counter()

    def __call__(self, ask: Ask) -> Reply:
        text = add(ask.user, wrong=WRONG[ask.model])
        key = ask.headers.get("x-api-key") or ask.headers["authorization"].removeprefix("Bearer ")
        assert key == CANARY
        with self._lock:
            self._asked[ask.model, ask.user] += 1
            draw = random.Random(f"{ask.model} {ask.user} {self._asked[ask.model, ask.user]}").random()
        for name, (share, reply) in FAULTS.items() if self._faults else ():
            draw -= share
            if draw < 0:
                with self._lock:
                    self.failed[name] += 1
                return reply(text, key)
        return Reply(text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run's directory, what it printed, and what the provider saw."""

    root: Path
    code: ExitCode
    out: str
    err: str
    asks: list[Ask]
    failed: Counter[str]

    @property
    def artifact(self) -> dict[str, Any]:
        """Without what differs from run to run."""
        document = json.loads(self.out)
        del document["created_at"]
        for rates in document["rates"].values():
            del rates["at"]
        for task in document["tasks"]:
            for side in ("original", "candidate"):
                assert task[side].pop("latency_s") < SOON.ask_s
        return dict(document)


def ran(shape: str, root: Path, *, faults: bool) -> Ran:
    root.mkdir()
    (root / "sums.jsonl").write_text(sums_jsonl(TASKS))
    big, small = ModelSpec(shape, "big"), ModelSpec(shape, "small")
    python = make_tokenjam(root / "tokenjam", recommended={big: small}, prices={big: (10, 30), small: (1, 3)})
    script = Faulty(faults=faults)
    with FakeProvider(script) as provider:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "XDG_CACHE_HOME": str(root / "cache"),
            "TJBENCH_TOKENJAM_PYTHON": str(python),
            "OPENAI_API_KEY": CANARY,
            "ANTHROPIC_API_KEY": CANARY,
            "OPENAI_BASE_URL": provider.openai_url,
            "ANTHROPIC_BASE_URL": provider.anthropic_url,
        }
        request = RunRequest(
            config=config_of({"proof": [{"suite": "sums.jsonl", "original": str(big)}]}, "--"),
            options=RunOptions(out=root / "results", commit="0" * 40),
            html=root / "page.html",
            json=True,
        )
        out, err = io.StringIO(), io.StringIO()
        place = Workplace(root=root, environ=environ, patience=SOON)
        code = run_once(request, place, stdout=out, stderr=err)
    return Ran(root=root, code=code, out=out.getvalue(), err=err.getvalue(), asks=provider.asks, failed=script.failed)


def files_in(root: Path) -> dict[str, str]:
    """What a run wrote, by name."""
    written = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "tokenjam" not in path.parts}
    return {
        str(path): (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
        for path, data in written.items()
    }


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_every_task_is_scored_as_if_nothing_had_failed_and_no_key_is_shown(
    shape: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain = ran(shape, tmp_path / "plain", faults=False)
    with caplog.at_level(logging.DEBUG):
        faulty = ran(shape, tmp_path / "faulty", faults=True)

    assert set(faulty.failed) == set(FAULTS), "each fault was met"
    assert (plain.code, faulty.code) == (ExitCode.PASSED, ExitCode.PASSED)
    assert faulty.artifact == plain.artifact
    assert plain.artifact["n_scored"] == TASKS
    assert (plain.artifact["original_pass"], plain.artifact["candidate_pass"]) == (TASKS - 1, TASKS - 4)
    assert len(plain.asks) == 2 * TASKS
    assert len(faulty.asks) == 2 * TASKS + faulty.failed.total()
    again = re.search(rf"{shape}: asked again (\d+) times \(", faulty.err)
    assert again
    assert int(again[1]) == faulty.failed.total()
    kept = [json.loads(line) for line in (faulty.root / "cache/tjbench/journal/answers.jsonl").read_text().splitlines()]
    assert len(kept) == len({(answer["model"], answer["task_id"]) for answer in kept}) == 2 * TASKS

    assert caplog.records
    said = {"stdout": faulty.out, "stderr": faulty.err, "log": caplog.text, **files_in(faulty.root)}
    assert {Path(name).suffix for name in said} >= {".json", ".gz", ".jsonl", ".html"}
    assert [name for name, text in said.items() if CANARY in text] == []


REFUSALS = [reply("", CANARY) for name, (_, reply) in FAULTS.items() if name not in {"slow body", "rate limit"}]
REFUSALS += [Reply(status=status, message=f"no, {CANARY}") for status in (400, 401, 402, 403, 404, 429, 500)]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda reply: f"{reply.status}-{(reply.raw or reply.message)[:8]}")
def test_what_is_given_up_is_told_without_the_key(
    shape: str, refusal: Reply, terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeProvider(lambda _: refusal) as provider, caplog.at_level(logging.DEBUG):
        name = shape.upper()
        terminal.environ[f"{name}_BASE_URL"] = provider.openai_url if shape == "openai" else provider.anthropic_url
        terminal.environ[f"{name}_API_KEY"] = CANARY
        place = Workplace(root=terminal.root, environ=terminal.environ, patience=IMPATIENT)
        out, err = io.StringIO(), io.StringIO()
        proof = {"suite": "sums.jsonl", "original": f"{shape}:big", "candidate": f"{shape}:small"}
        request = RunRequest(
            config=config_of({"proof": [proof], "run": {"mock": False}}, "--"),
            options=RunOptions(out=terminal.root / "results"),
            html=terminal.root / "page.html",
        )
        code = run_once(request, place, stdout=out, stderr=err)
    assert provider.asks
    assert code is not ExitCode.PASSED
    said = {"stdout": out.getvalue(), "stderr": err.getvalue(), "log": caplog.text, **files_in(terminal.root.parent)}
    assert {Path(name).suffix for name in said} >= {".json", ".gz", ".html"}
    assert [name for name, text in said.items() if CANARY in text] == []


OURS = "import tjbench.models.sdk as sdk\ndef words_of(body): raise ZeroDivisionError\nsdk.words_of = words_of"
THEIRS = """
import {0}
def fail(self, response):
    try: raise ValueError(response.text)
    except ValueError as error: raise ZeroDivisionError from error
{0}._base_client.BaseClient._make_status_error_from_response = fail
"""


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("broken", [OURS, THEIRS], ids=["of ours", "of the SDK"])
def test_a_bug_in_the_middle_of_a_call_shows_its_traceback_and_no_key(
    shape: str, broken: str, terminal: Terminal
) -> None:
    name = shape.upper()
    with FakeProvider(lambda _: Reply(status=500, message=f"no, {CANARY}")) as provider:
        url = provider.openai_url if shape == "openai" else provider.anthropic_url
        environ = {f"{name}_BASE_URL": url, f"{name}_API_KEY": CANARY}
        pair = ["--original", f"{shape}:big", "--candidate", f"{shape}:small"]
        words = ["run", "--benchmark", "sums.jsonl", "--no-mock", *pair]
        with terminal.start(*words, setup=broken.format(shape), **environ) as process:
            out, err = process.communicate(timeout=60)
    assert b"Traceback" in err
    assert b"ZeroDivisionError" in err
    assert CANARY.encode() not in out + err
    assert not any(CANARY in text for text in files_in(terminal.root.parent).values())


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("url", "why"),
    [("http://127.0.0.1:9", "Connection refused"), (NOWHERE, "Name or service not known")],
    ids=["nobody listens", "no such host"],
)
def test_a_provider_that_is_not_there_ends_the_run_with_the_reason(
    shape: str, url: str, why: str, terminal: Terminal
) -> None:
    """After ``connect_s`` (5 s by default) of trying, however many calls there are."""
    (terminal.root / "sums.jsonl").write_text(sums_jsonl(300))
    base = f"{url}/v1" if shape == "openai" else url
    environ = {**terminal.environ, f"{shape.upper()}_BASE_URL": base, f"{shape.upper()}_API_KEY": CANARY}
    place = Workplace(root=terminal.root, environ=environ, patience=Patience(connect_s=0.3))
    proof = {"suite": "sums.jsonl", "original": f"{shape}:big", "candidate": f"{shape}:small"}
    request = RunRequest(config=config_of({"proof": [proof]}, "--"), options=RunOptions(out=terminal.root / "results"))
    out, err = io.StringIO(), io.StringIO()
    assert run_once(request, place, stdout=out, stderr=err) is ExitCode.INCOMPLETE
    found = re.search(
        rf"{shape}:(big|small): 300 calls failed \(unavailable\): not asked any more after .*", err.getvalue()
    )
    assert found, err.getvalue()
    assert "no connection: [Errno" in found[0]
    assert why in found[0]
    again = re.search(r"asked again (\d+) times", err.getvalue())
    assert again
    assert int(again[1]) < 100, "calls that wait are not made once the provider is given up"
