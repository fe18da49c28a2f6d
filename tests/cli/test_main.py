"""The door: one clear message and the right exit code for whatever went wrong."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.artifacts import measurement
from tests.fakes.gitdir import commit, git
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal, wait_until
from tjbench import recommend
from tjbench.cli.main import app, register_commands
from tjbench.store.artifacts import write_artifact

CONFIG = '[[proof]]\nsuite = "sums.jsonl"\noriginal = "openai:big"\n'


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """A repository with a suite and a configuration, and no key."""
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(30))
        (opened.root / "tjbench.toml").write_text(CONFIG)
        (opened.root / "bad").mkdir()
        (opened.root / "bad/tjbench_x.json").write_text("{")
        git(opened.root, "init", "-q", "-b", "main")
        commit(opened.root, {})
        yield opened


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run --benchmark no-such", ["there is no suite 'no-such'", "samples"]),
        ("run --benchmark sample", ["did you mean 'samples'?"]),
        ("run --benchmark absent.jsonl", ["absent.jsonl cannot be read"]),
        ("run --original gpt-4o", ["'gpt-4o' is not a model", "provider:model"]),
        ("run --candidate :x", ["is not a model"]),
        ("run --original nobody:x --candidate nobody:y --no-mock", ["'nobody' is not a known provider", "anthropic"]),
        ("run --original anthropic:a --candidate anthropic:b --no-mock", ["missing key: ANTHROPIC_API_KEY"]),
        ("run --limit 0", ["--limit"]),
        ("run --samples many", ["--samples"]),
        ("run --bench samples", ["--bench"]),
        ("run --max-cost-usd -1", ["--max-cost-usd"]),
        ("run --original openai:small --mock", ["recommends no cheaper model for openai:small"]),
        ("run --original openai:big --mock --limit 1 --out tjbench.toml", ["cannot write to tjbench.toml"]),
        ("ci --no-mock --baseline none", ["missing key: OPENAI_API_KEY"]),
        ("ci --mock --baseline branch:release/9", ["baseline branch 'release/9' does not exist", "main"]),
        ("ci --mock --baseline ref:0000000", ["commit '0000000' is not in the repository"]),
        ("ci --mock --baseline newest", ["baseline 'newest' is not understood", "branch:NAME"]),
        ("ci --mock --baseline path:absent", ["there is no directory", "absent"]),
        ("ci --mock --baseline path:bad/tjbench_x.json", ["tjbench_x.json is not an artifact", "not JSON"]),
        ("ci --mock --baseline none --config absent.toml", ["cannot read", "absent.toml"]),
        ("ci --mock --baseline none --fail-on regressions", ["--fail-on", "regressions"]),
        ("ci --mock --baseline none --alpha 2", ["--alpha"]),
        ("gate --baseline bad/tjbench_x.json --head bad", ["tjbench_x.json is not an artifact"]),
        ("gate --baseline absent --head bad", ["there is no directory absent"]),
        ("gate --head bad", ["--baseline"]),
        ("matrix --dir absent", ["there is no directory absent"]),
        ("recommend --original big", ["'big' is not a model"]),
        ("no-such-command", ["no-such-command"]),
    ],
)
def test_a_mistake_is_one_clear_message_and_exit_2(terminal: Terminal, line: str, said: list[str]) -> None:
    got = terminal.tjb(*line.split())
    assert got.code == 2
    assert [words for words in said if words not in got.err] == []
    assert "Traceback" not in got.err
    assert got.out == ""
    assert got.err.count("tjb: ") <= 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gate\n", "tjbench.toml:1: not TOML"),
        ('[[proof]]\nsuite = "samples"\n\n[gate]\nfail_onn = "never"\n', "tjbench.toml:5: unknown key gate.fail_onn"),
        ('[[proof]]\noriginal = "gpt-4o"\n', "tjbench.toml:2: "),
        ("[gate]\nalpha = 5\n", "tjbench.toml:2: gate.alpha"),
    ],
)
def test_a_configuration_error_names_file_and_line(terminal: Terminal, text: str, said: str) -> None:
    (terminal.root / "tjbench.toml").write_text(text)
    got = terminal.tjb("ci", "--mock", "--baseline", "none")
    assert got.code == 2
    assert got.err.startswith(f"tjb: {said}")
    assert "Traceback" not in got.err


def test_what_is_allowed_is_said_for_an_unknown_key(terminal: Terminal) -> None:
    (terminal.root / "tjbench.toml").write_text('[gate]\nfail_onn = "never"\n')
    got = terminal.tjb("ci", "--mock", "--baseline", "none")
    assert "did you mean 'fail_on'?" in got.err
    assert "alpha" in got.err


def test_every_command_explains_itself_with_an_example(terminal: Terminal) -> None:
    register_commands()
    for command in app.registered_commands:
        assert command.callback is not None
        name = (command.name or command.callback.__name__).replace("_", "-")
        got = terminal.tjb(name, "--help")
        assert (got.code, got.err) == (0, "")
        assert re.search(rf"Example: .*\b{re.escape(name)}\b", " ".join(got.out.split())), name


def test_no_arguments_show_the_help(terminal: Terminal) -> None:
    got = terminal.tjb()
    assert "recommend" in got.out + got.err
    assert got.code in (0, 2)


# --- decisions


def store(directory: Path, candidate: str, version: str = "0.6.1") -> None:
    write_artifact(measurement("p" * 40, candidate, version=version), directory)


@pytest.mark.parametrize(
    ("head", "code", "status"),
    [
        ("p" * 40, 0, "pass"),
        ("f" * 12 + "p" * 28, 1, "regression"),
        ("u" * 12 + "p" * 28, 3, "incomplete"),
        ("f" * 3 + "p" * 37, 0, "inconclusive"),
    ],
)
def test_a_gate_ends_with_the_code_of_its_decision(terminal: Terminal, head: str, code: int, status: str) -> None:
    store(terminal.root / "before", "p" * 40)
    store(terminal.root / "now", head)
    line = ("gate", "--baseline", "before", "--head", "now")
    assert terminal.tjb(*line).code == code
    got = terminal.tjb(*line, "--json", "--markdown", "report.md")
    document = json.loads(got.out)
    assert (got.code, document["exit_code"], document["status"]) == (code, code, status)
    assert {"rows", "pooled", "reasons", "baseline"} <= set(document)
    assert (terminal.root / "report.md").read_text().startswith("### ")
    assert terminal.tjb(*line, "--fail-on", "never").code == 0


def test_a_matrix_fails_for_the_last_step_alone(terminal: Terminal) -> None:
    worse = "f" * 12 + "p" * 28
    store(terminal.root / "results", "p" * 40, "0.6.0")
    store(terminal.root / "results", worse, "0.6.1")
    assert terminal.tjb("matrix").code == 1
    store(terminal.root / "results", worse, "0.6.2")
    got = terminal.tjb("matrix", "--json")
    document = json.loads(got.out)
    assert (got.code, document["exit_code"]) == (0, 0)
    assert [step["tokenjam_version"] for step in document["steps"]] == ["0.6.0", "0.6.1", "0.6.2"]


@pytest.mark.parametrize(
    "line",
    [
        "run --original openai:big --mock --limit 2 --json",
        "ci --mock --baseline none --json",
        "recommend --all --json",
        "benchmarks --json",
        "version --json",
    ],
)
def test_json_is_one_document_on_stdout(terminal: Terminal, line: str) -> None:
    got = terminal.tjb(*line.split())
    assert got.code == 0
    json.loads(got.out)


def test_a_suite_that_cannot_be_mocked_is_a_mistake(terminal: Terminal) -> None:
    check = {"unit_tests": {"entry_point": "f", "tests": "def check(f):\n    assert f() == 1\n"}}
    (terminal.root / "code.jsonl").write_text(json.dumps({"id": "a", "prompt": "Write f.", "check": check}))
    got = terminal.tjb("run", "--benchmark", "code.jsonl", "--original", "openai:big", "--mock")
    assert got.code == 2
    assert "task a has no canned answers" in got.err


def test_a_bug_keeps_its_traceback_and_is_no_regression(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(recommend, "tell_benchmarks", broken)
    got = terminal.tjb("benchmarks")
    assert got.code == 70
    assert "ZeroDivisionError: by chance" in got.err
    assert got.err.rstrip().endswith("please report the lines above")


# --- ends from outside


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_keeps_its_answers(terminal: Terminal, stop: signal.Signals, code: int) -> None:
    def slow_after_ten(ask: object) -> Reply:
        return Reply(text=add(ask.user), delay_s=0 if ask.number <= 10 else 1)  # type: ignore[attr-defined]

    journal = terminal.root / "journal/answers.jsonl"
    with FakeProvider(slow_after_ten) as provider:
        words = ("run", "--benchmark", "sums.jsonl", "--original", "openai:big", "--journal", "journal")
        with terminal.start(*words, "--concurrency", "2", OPENAI_BASE_URL=provider.openai_url) as process:
            wait_until(lambda: len(provider.asks) > 11)
            process.send_signal(stop)
            out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"answers in the journal are kept" in err
    assert b"Traceback" not in err
    assert out == b""
    assert len(journal.read_text().splitlines()) >= 10
    assert not (terminal.root / "results").exists()


def test_a_reader_that_leaves_is_no_regression(terminal: Terminal) -> None:
    with terminal.start("benchmarks") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        assert (process.wait(60), err) == (141, b"")
