"""What was said lies beside the artifact, for its owner only."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.artifacts import measurement
from tjbench.errors import UsageError
from tjbench.store.artifacts import load_path, write_artifact
from tjbench.store.transcripts import write_lines, write_transcripts


@dataclass(frozen=True, slots=True)
class Said:
    text: str

    def as_json(self) -> dict[str, object]:
        return {"text": self.text}


HARD = ["plain", "two\nlines", "\N{GRINNING FACE} ü", "half a pair \ud800", ""]


def test_every_answer_is_one_line_and_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write_transcripts([Said(text) for text in HARD], tmp_path / "tjbench_s_tj0.6.1_20260101T000000Z-a1.json")
    assert path.name == "tjbench_s_tj0.6.1_20260101T000000Z-a1.transcripts.jsonl.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        assert [json.loads(line)["text"] for line in lines] == HARD


def test_no_one_else_can_read_it_at_any_time(tmp_path: Path) -> None:
    modes = []

    @dataclass(frozen=True, slots=True)
    class Watching:
        path: Path

        def as_json(self) -> dict[str, object]:
            modes.append(stat.S_IMODE(self.path.stat().st_mode))
            return {}

    artifact = tmp_path / "a.json"
    umask = os.umask(0)
    try:
        path = write_transcripts([Watching(tmp_path / "a.transcripts.jsonl.gz")], artifact)
    finally:
        os.umask(umask)
    assert modes == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_was_said_before_is_never_replaced(tmp_path: Path) -> None:
    path = write_transcripts([Said("first")], tmp_path / "a.json")
    with pytest.raises(UsageError, match="cannot write to"):
        write_transcripts([Said("second")], tmp_path / "a.json")
    with gzip.open(path, "rt", encoding="ascii") as lines:
        assert [json.loads(line) for line in lines] == [{"text": "first"}]


def test_an_interrupt_leaves_no_half_of_it(tmp_path: Path) -> None:
    def interrupted() -> Iterator[dict[str, object]]:
        yield {"text": "x" * 100_000}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(interrupted(), tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_link_left_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.transcripts.jsonl.gz").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="cannot write to"):
        write_transcripts([Said("x")], tmp_path / "a.json")
    assert not (tmp_path / "elsewhere").exists()


def test_transcripts_are_no_artifacts(tmp_path: Path) -> None:
    artifact = write_artifact(measurement("p", "p"), tmp_path)
    write_transcripts([Said("x")], artifact)
    loaded = load_path(tmp_path)
    assert (list(loaded.artifacts), loaded.rejected) == ([artifact.name], {})
