"""What people see of a run while it lasts."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model import FakeModel, response
from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.screen import Screen
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal, wait_until
from tjbench import display
from tjbench.config import ModelSpec
from tjbench.models.model import Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.progress import Progress
from tjbench.runner.attempt import Attempt
from tjbench.runner.budget import Budget, BudgetedModel
from tjbench.runner.course import Course
from tjbench.scoring.score import PASSED, Cause, failed

BIG, SMALL = ModelSpec("openai", "big"), ModelSpec("openai", "small")
WRONG, LOST = failed(Cause.WRONG_ANSWER, ""), failed(Cause.PROVIDER_ERROR, "")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine that runs the tests is, they see a laptop's terminal."""
    for name in ("CI", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def answered(reused_from: str | None = None) -> Attempt:
    return Attempt(task_id="t", sample=0, text="x", reused_from=reused_from)


def fields(progress: Progress, name: str = "openai:big") -> list[str]:
    (line,) = (line for line in progress.lines() if line.name == name)
    return [field for field in line.fields if field]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Iterator[Progress]:
    watched = Progress(io.StringIO(), clock=clock)
    yield watched
    watched.finish()


# --- what is said


def test_the_time_left_is_what_is_to_be_done_at_the_rate_of_the_last_half_minute(
    progress: Progress, clock: Clock
) -> None:
    progress.begin(Course(planned={BIG: 100}))
    clock.now += 10
    for score in [PASSED] * 15 + [WRONG] * 4 + [LOST]:
        progress.watch(BIG, answered(), score)
    # 20 of 100 in 10 s are 2 a second: 40 s for 80
    assert fields(progress) == ["20/100 done", "15 passed, 1 unscored", "2.0/s", "0:00:40 left"]
    clock.now += 29
    # all 20 within the last 30 s: 80 at 2/3 a second
    assert fields(progress) == ["20/100 done", "15 passed, 1 unscored", "0.7/s", "0:02:00 left"]
    clock.now += 60
    assert fields(progress) == ["20/100 done", "15 passed, 1 unscored", "0.0/s", "none for 0:01:29"]
    progress.finish()
    assert fields(progress) == ["20/100 done", "15 passed, 1 unscored"]


def test_kept_answers_and_calls_that_were_not_made_tell_nothing_of_the_rate(progress: Progress, clock: Clock) -> None:
    progress.begin(Course(planned={BIG: 100}))
    clock.now += 10
    for _ in range(50):
        progress.watch(BIG, answered("journal 2026-01-01"), PASSED)
    for trouble in (Trouble.BUDGET, Trouble.DEADLINE):
        progress.watch(BIG, Attempt(task_id="t", sample=0, trouble=trouble), LOST)
    assert "0.0/s" in fields(progress)
    for _ in range(10):
        progress.watch(BIG, answered(), PASSED)
    assert fields(progress) == ["62/100 done", "60 passed, 2 unscored", "1.0/s", "0:00:38 left"]


def test_calls_in_flight_and_dollars_are_those_of_the_budget(progress: Progress) -> None:
    budget = Budget(10.0, lambda _, usage: usage.output * 0.01)
    inside, release = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        inside.set()
        assert release.wait(30)
        return response(usage=Usage(output=7))

    request = Request(task_id="t", sample=0, messages=(), sampling=Sampling(max_tokens=10))
    progress.begin(Course(planned={BIG: 2}, judge=SMALL, budget=budget))
    BudgetedModel(FakeModel(lambda _: response(usage=Usage(output=3)), SMALL), budget).answer(request)
    thread = threading.Thread(target=BudgetedModel(FakeModel(slow, BIG), budget).answer, args=(request,))
    thread.start()
    assert inside.wait(30)
    assert fields(progress)[:3] == ["0/2 done", "0 passed", "1 in flight"]
    assert fields(progress, "openai:small") == ["judge", "0 in flight", "$0.0300"]
    release.set()
    thread.join(30)
    assert fields(progress)[2:5] == ["0 in flight", "0.0/s", "$0.0700"]


def test_what_is_asked_once_more_comes_on_top(progress: Progress) -> None:
    progress.begin(Course(planned={BIG: 3, SMALL: 3}))
    progress.begin(Course(planned={SMALL: 2}))
    assert [line.fields[0] for line in progress.lines()] == ["0/3 done", "0/5 done"]


# --- where no terminal is


def plain(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_a_run_that_stands_still_says_so_again_and_again(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    assert display.PLAIN_SECONDS == 15
    monkeypatch.setattr(display, "PLAIN_SECONDS", 0.01)
    stream = io.StringIO()
    progress = Progress(stream, clock=clock)
    progress.begin(Course(planned={BIG: 30, SMALL: 30}))
    clock.now += 20
    wait_until(lambda: stream.getvalue().count("none for 0:00:20") >= 4)  # two models a line
    progress.warn("rate limited")
    progress.finish()
    said = plain(stream)
    assert set(said[1:-1]) <= {
        "openai:big: 0/30 done, 0 passed, 0.0/s, none for 0:00:20 · openai:small: 0/30 done, 0 passed, 0.0/s, "
        "none for 0:00:20",
        "warning: rate limited",
    }
    assert said[-1] == "openai:big: 0/30 done, 0 passed · openai:small: 0/30 done, 0 passed"
    assert not any(thread.name == "progress" for thread in threading.enumerate())
    progress.finish()
    assert plain(stream) == said


def test_nothing_is_said_of_a_run_that_never_began() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.say("testing the checks")
    progress.finish()
    progress.begin(Course(planned={BIG: 1}))
    assert stream.getvalue() == "testing the checks\n"


def test_a_reader_who_left_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PLAIN_SECONDS", 0.01)
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    progress = Progress(stream)
    progress.begin(Course(planned={BIG: 1}))
    progress.say("hello")
    progress.watch(BIG, answered(), PASSED)
    progress.finish()
    with pytest.raises(BrokenPipeError):  # by what is still in the stream's buffer
        stream.close()


@pytest.mark.parametrize(
    "variables", [{"CI": "true"}, {"TERM": "dumb"}, {"COLUMNS": "23"}], ids=["CI", "dumb", "hardly any width"]
)
def test_a_terminal_that_is_none_gets_plain_lines(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Screen(80) as screen:
        progress = Progress(screen.stream)
        progress.begin(Course(planned={BIG: 2}))
        progress.watch(BIG, answered(), PASSED)
        progress.finish()
        screen.close()
        assert screen.lines == ["openai:big: 1/2 done, 1 passed"]


# --- in a terminal

LONG = ModelSpec("openrouter", "a-vendor-of-some-fame/a-model-with-a-name-that-does-not-end-soon")


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        # 12 for the longer name, 9, 8, 11, 5, 2 and 16 for the fields, and two between: 75 in all
        (76, ["done", "passed", "in flight", "/s", "$", "none for"]),
        (75, ["done", "passed", "in flight", "$", "none for"]),
        (60, ["done", "passed", "$", "none for"]),
        (50, ["done", "$", "none for"]),
        (44, ["done", "none for"]),
        (30, ["done"]),
        (24, ["done"]),
    ],
)
def test_lines_stay_in_place_at_any_width_and_warnings_stand_above_them(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, columns: int, shown: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    every = ["done", "passed", "in flight", "/s", "$", "none for"]
    with Screen(columns) as screen:
        progress = Progress(screen.stream, clock=clock)
        progress.begin(Course(planned={BIG: 30, SMALL: 30}, budget=Budget(1.0, lambda *_: 0.0)))
        clock.now += 60
        progress.warn("first")
        progress.watch(SMALL, answered(), PASSED)
        clock.now += 60
        progress.warn("next")
        wait_until(lambda: len(screen.lines) == 4 and "1/30" in screen.lines[3])
        lines = screen.lines
        assert lines[:2] == ["warning: first", "warning: next"]
        assert [line.split()[0] for line in lines[2:]] == ["openai:big", "openai:small"]
        assert [field for field in every if field in lines[3]] == shown
        assert all(len(line) < columns for line in lines)
        progress.finish()
        screen.close()
        assert len(screen.lines) == 4
        assert (screen.cursor_is_shown, screen.cursor_column) == (True, 0)


def test_a_name_with_no_room_is_cut_and_none_is_read_as_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with Screen(40) as screen:
        progress = Progress(screen.stream)
        progress.begin(Course(planned={LONG: 9, ModelSpec("openai", "[red]x[/]"): 9}))
        progress.say("[bold]not bold[/bold] :smile:")
        progress.finish()
        screen.close()
        said, cut, marked = screen.lines
        assert said == "[bold]not bold[/bold] :smile:"
        assert cut.startswith("openrouter:a-vendor-of-")
        assert cut.endswith("…  0/9 done")
        assert marked.split() == ["openai:[red]x[/]", "0/9", "done"]


# --- as a command


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(6))
        yield opened


RUN = ("run", "--benchmark", "sums.jsonl", "--original", "openai:big", "--candidate", "openai:small", "--json")


def start(terminal: Terminal, screen: Screen, provider: FakeProvider) -> subprocess.Popen[bytes]:
    env = {"PATH": os.environ["PATH"], **terminal.environ, "TERM": "xterm", "OPENAI_BASE_URL": provider.openai_url}
    env["PYTHONPATH"] = str(Path(__file__).parents[1])
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from tjbench.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *RUN], cwd=terminal.root, env=env, stdout=subprocess.PIPE, stderr=screen.fd
    )


def test_people_watch_a_run_whose_document_goes_down_a_pipe(terminal: Terminal) -> None:
    with (
        Screen(100, 200) as screen,
        FakeProvider(lambda ask: Reply(text=add(ask.user))) as provider,
        start(terminal, screen, provider) as process,
    ):
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert json.loads(out)["n_tasks"] == 6
        screen.close()
        first, second = screen.lines[:2]
        assert first.split()[:5] == ["openai:big", "6/6", "done", "6", "passed"]
        assert second.split()[:5] == ["openai:small", "6/6", "done", "6", "passed"]
        assert screen.cursor_is_shown


def test_an_interrupt_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    def hangs_at_small(ask: Ask) -> Reply:
        return Reply(text=add(ask.user), delay_s=300 if ask.model == "small" else 0)

    with (
        Screen(100) as screen,
        FakeProvider(hangs_at_small) as provider,
        start(terminal, screen, provider) as process,
    ):
        wait_until(lambda: any("6/6 done" in line for line in screen.lines))
        assert any("in flight" in line for line in screen.lines if line.startswith("openai:small"))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, b"")
        screen.close()
        big, small, ended = screen.lines
        assert big.startswith("openai:big")
        assert small.split() == ["openai:small", "0/6", "done", "0", "passed", "$0"]
        assert ended.startswith("tjb: interrupted")
        assert (screen.cursor_is_shown, screen.cursor_column) == (True, 0)
