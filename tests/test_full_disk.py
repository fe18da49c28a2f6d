"""A disk that is full at whatever is written last: one clear error, exit 3, and what was there stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.disk import fill, small_disk
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Said, Terminal, open_terminal
from tjbench.store.artifacts import load_path

TASKS = 30
RUN = ("run", "--benchmark", "sums.jsonl", "--original", "openai:big", "--candidate", "openai:small")


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(lambda ask: Reply(text=add(ask.user))) as running:
        yield running


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: FakeProvider
) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(TASKS))
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        yield opened


def is_clear(said: Said, place: str) -> bool:
    error = said.err[said.err.rindex("tjb: ") :].splitlines()
    return (
        said.code == 3
        and error[0].startswith(f"tjb: cannot write to {place}")
        and error[1] == "  why: No space left on device"
        and error[2].startswith("  fix: make room and run again: the answers kept in the journal are reused")
        and "Traceback" not in said.err
    )


def files(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


def test_no_room_for_the_artifact(terminal: Terminal, provider: FakeProvider) -> None:
    with small_disk(terminal.root / "results", 256) as disk:
        (disk / "earlier").write_text("kept")
        fill(disk, leave=4096)  # room for the trial file, not for the artifact
        said = terminal.tjb(*RUN, "--journal", "journal")
        assert is_clear(said, "results"), said.err
        assert files(disk) == {"earlier", "ballast"}
        assert len(provider.asks) == 2 * TASKS
        (disk / "ballast").unlink()
        assert terminal.tjb(*RUN, "--journal", "journal").code == 0
        assert len(provider.asks) == 2 * TASKS
        assert (disk / "earlier").read_text() == "kept"


def test_no_room_for_the_transcript(terminal: Terminal) -> None:
    # A transcript is the only file here that packs: answers of noise make it larger than what is left.
    with small_disk(terminal.root / "results", 256) as disk:
        whole = terminal.tjb(*RUN, "--journal", "journal")
        assert whole.code == 0
        (artifact,) = disk.glob("*.json")
        room = artifact.stat().st_size + 4096
        for path in disk.iterdir():
            path.unlink()
        fill(disk, leave=-(-room // 4096) * 4096 - 4096)
        said = terminal.tjb(*RUN, "--journal", "journal", "--json")
        assert is_clear(said, f"{terminal.root}/results/"), said.err
        assert ".transcripts.jsonl.gz" in said.err
        (kept,) = load_path(disk).artifacts.values()
        assert json.loads(said.out)["n_scored"] == kept.n_scored == TASKS
        assert {name.rpartition(".")[2] for name in files(disk)} == {"ballast", "json"}


@pytest.mark.parametrize("command", ["run", "ci"])
def test_no_room_for_the_page_leaves_the_earlier_page(terminal: Terminal, command: str) -> None:
    (terminal.root / "tjbench.toml").write_text(
        '[[proof]]\nsuite = "sums.jsonl"\noriginal = "openai:big"\ncandidate = "openai:small"\n'
    )
    words = RUN if command == "run" else ("ci", "--baseline", "none")
    with small_disk(terminal.root / "pages", 64) as disk:
        (disk / "page.html").write_text("the earlier page")
        fill(disk, leave=4096)
        said = terminal.tjb(*words, "--html", "pages/page.html", "--json")
        assert is_clear(said, "pages/page.html"), said.err
        assert json.loads(said.out)
        assert (disk / "page.html").read_text() == "the earlier page"
        assert files(disk) == {"page.html", "ballast"}


def test_no_room_for_the_journal_keeps_what_it_holds(terminal: Terminal, provider: FakeProvider) -> None:
    with small_disk(terminal.root / "journal", 64) as disk:
        fill(disk, leave=8192)
        said = terminal.tjb(*RUN, "--journal", "journal", "--concurrency", "1")
        assert said.code == 3
        assert "tjb: the journal journal/answers.jsonl cannot be written\n  why: No space left on device\n" in said.err
        kept = (disk / "answers.jsonl").read_bytes().splitlines()
        assert all(json.loads(line)["text"] for line in kept)
        assert 0 < len(kept) < 2 * TASKS
        asked = len(provider.asks)
        (disk / "ballast").unlink()
        assert terminal.tjb(*RUN, "--journal", "journal").code == 0
        assert len(provider.asks) - asked == 2 * TASKS - len(kept)
