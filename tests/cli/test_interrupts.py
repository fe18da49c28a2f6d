"""What becomes of a run that someone stops, and of one that is killed."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal, wait_until

NEVER_S = 300.0
SOON_S = 30
"""What a loaded machine may need to end a process that waits for nothing; a tenth of ``NEVER_S``."""
GRACE = "import tjbench.runner.pool as pool, tjbench.bench as bench; pool._GRACE_S = bench.GRACE_S = {}"
POEM = {"id": "poem", "prompt": "Write.", "check": {"judged": {"criteria": "It rhymes."}}}
CONFIG = '[[proof]]\nsuite = "{suite}"\noriginal = "openai:big"\n[judge]\nmodel = "openai:grader"\n'
COMMANDS = {
    "run": ("run", "--original", "openai:big", "--judge", "openai:grader", "--benchmark"),
    "ci": ("ci", "--baseline", "none", "--no-mock"),
}


def hangs(ask: Ask) -> Reply:
    return Reply(text=add(ask.user), delay_s=NEVER_S)


def grades_never(ask: Ask) -> Reply:
    return Reply(text="{}", delay_s=NEVER_S if ask.model == "grader" else 0)


def asks_for_patience(_: Ask) -> Reply:
    return Reply(status=429, message="slow down", headers={"Retry-After": "50"})


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(6))
        (opened.root / "poems.jsonl").write_text(json.dumps(POEM) + "\n")
        yield opened


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["run", "ci"])
@pytest.mark.parametrize(
    ("suite", "answer", "held_by"),
    [("sums", hangs, "big"), ("poems", grades_never, "grader"), ("sums", asks_for_patience, "big")],
    ids=["a call hangs", "a judge call hangs", "a retry sleeps"],
)
def test_a_run_that_waits_can_be_stopped(
    terminal: Terminal,
    stop: signal.Signals,
    code: int,
    command: str,
    suite: str,
    answer: Callable[[Ask], Reply],
    held_by: str,
) -> None:
    (terminal.root / "tjbench.toml").write_text(CONFIG.format(suite=f"{suite}.jsonl"))
    words = [*COMMANDS[command], *([f"{suite}.jsonl"] if command == "run" else [])]
    with (
        FakeProvider(answer) as provider,
        terminal.start(*words, setup=GRACE.format(0.3), OPENAI_BASE_URL=provider.openai_url) as process,
    ):
        wait_until(lambda: any(ask.model == held_by for ask in provider.asks))
        process.send_signal(stop)
        out, err = process.communicate(timeout=SOON_S)
    assert process.returncode == code, err
    assert b"run the same command again to go on" in err
    assert b"Traceback" not in err
    assert b"Exception" not in err
    assert out == b""


def test_a_second_interrupt_waits_for_no_call(terminal: Terminal) -> None:
    patient = GRACE.format(NEVER_S)
    with (
        FakeProvider(hangs) as provider,
        terminal.start(*COMMANDS["run"], "sums.jsonl", setup=patient, OPENAI_BASE_URL=provider.openai_url) as process,
    ):
        wait_until(lambda: len(provider.asks) > 0)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SOON_S)
    assert process.returncode == 130, err


TASKS, KILLS, IN_FLIGHT = 40, 10, 4


def on_disk(journal: Path) -> Counter[tuple[str, str]]:
    """How often the journal holds each call's answer; a line that the kill cut short is none."""
    whole = [line for line in journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return Counter((record["model"], record["task_id"]) for record in map(json.loads, whole))


def calls_of(asks: Iterable[Ask]) -> list[tuple[str, str]]:
    """The asks, named as in the journal; sum-N asks for N + 1."""
    return [(f"openai:{ask.model}", f"sum-{ask.user.split()[2]}") for ask in asks]


def test_ten_kills_cost_no_more_than_the_calls_in_flight(terminal: Terminal) -> None:
    (terminal.root / "sums.jsonl").write_text(sums_jsonl(TASKS))
    journal = terminal.root / "journal/answers.jsonl"
    words = ["run", "--original", "openai:big", "--benchmark", "sums.jsonl", "--journal", "journal", "--json"]
    words += ["--concurrency", str(IN_FLIGHT)]
    calls = {(f"openai:{model}", f"sum-{n}") for model in ("big", "small") for n in range(TASKS)}
    chance = random.Random(5)
    with FakeProvider(lambda ask: Reply(text=add(ask.user), delay_s=0.02)) as provider:
        for _ in range(KILLS):
            finished, before = on_disk(journal) if journal.exists() else Counter(), len(provider.asks)
            more = chance.randint(1, 7)  # at most 7 + IN_FLIGHT of 80 calls are made before the kill, mostly fewer
            with terminal.start(*words, OPENAI_BASE_URL=provider.openai_url) as process:
                wait_until(lambda least=before + more: len(provider.asks) >= least)  # type: ignore[misc]
                time.sleep(chance.uniform(0, 0.02))
                process.kill()
                process.communicate()
            assert process.returncode == -signal.SIGKILL
            assert not set(calls_of(provider.asks[before:])) & set(finished)
        finished, before = on_disk(journal), len(provider.asks)
        assert 0 < len(finished) < len(calls)
        out, err = terminal.start(*words, OPENAI_BASE_URL=provider.openai_url).communicate(timeout=60)
    assert set(calls_of(provider.asks[before:])) == calls - set(finished), err
    assert on_disk(journal) == Counter(calls)
    assert len(calls) <= len(provider.asks) <= len(calls) + KILLS * IN_FLIGHT
    document = json.loads(out)
    assert (document["n_tasks"], document["original_pass"], document["candidate_pass"]) == (TASKS, TASKS, TASKS)
