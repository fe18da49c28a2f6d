from __future__ import annotations

import json
import multiprocessing
import os
import stat
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.fakes.disk import small_disk
from tests.fakes.model import SPEC, FakeModel, response
from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError, UsageError
from tjbench.models.cached import CachedModel, Journal, request_key
from tjbench.models.model import Finish, ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage

URL = "https://api.example/v1"


def request(task: str = "t", sample: int = 0, text: str = "q", sampling: Sampling | None = None) -> Request:
    messages = ({"role": "user", "content": text},)
    return Request(task_id=task, sample=sample, messages=messages, sampling=sampling or Sampling())


def test_second_run_reuses_every_answer_with_its_usage_and_says_so(tmp_path: Path) -> None:
    full = replace(
        response("ответ \ud800", Usage(input=1, output=2, cache_read=3, cache_write=4)), sent={"max_tokens": 2048}
    )
    with Journal(tmp_path) as journal:
        first = CachedModel(FakeModel(lambda _: full), journal, endpoint=URL).answer(request())
    again = FakeModel()
    with Journal(tmp_path) as journal:
        second = CachedModel(again, journal, endpoint=URL).answer(request())
    assert again.asked == []
    assert first == full
    assert second.reused_from is not None
    assert second.reused_from.startswith("journal 20")
    assert replace(second, reused_from=None) == full


def test_same_request_in_one_run_is_asked_once(tmp_path: Path) -> None:
    model = FakeModel()
    with Journal(tmp_path) as journal:
        cached = CachedModel(model, journal, endpoint=URL)
        assert cached.answer(request()).reused_from is None
        assert cached.answer(request()).reused_from
    assert len(model.asked) == 1


def test_every_part_of_the_request_but_the_task_name_tells_answers_apart() -> None:
    base = request_key(SPEC, URL, request())
    others = [
        request_key(ModelSpec("deepseek", SPEC.model), URL, request()),
        request_key(ModelSpec(SPEC.provider, "other"), URL, request()),
        request_key(SPEC, "https://elsewhere/v1", request()),
        request_key(SPEC, URL, request(text="another")),
        request_key(SPEC, URL, request(sample=1)),
        request_key(SPEC, URL, request(sampling=Sampling(max_tokens=1))),
        request_key(SPEC, URL, request(sampling=Sampling(temperature=0.0))),
        request_key(SPEC, URL, request(sampling=Sampling(seed=0))),
    ]
    assert len({base, *others}) == 1 + len(others)
    assert request_key(SPEC, URL, request(task="renamed")) == base


@pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.FILTERED, Finish.OTHER])
def test_incomplete_answer_is_kept_but_not_reused(tmp_path: Path, finish: Finish) -> None:
    model = FakeModel(lambda _: response("half", finish=finish))
    for _ in range(2):
        with Journal(tmp_path) as journal:
            assert CachedModel(model, journal, endpoint=URL).answer(request()).reused_from is None
    assert len(model.asked) == 2
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["half", "half"]


def test_failed_call_is_not_kept(tmp_path: Path) -> None:
    def fail(_: Request) -> Response:
        raise ModelError(Trouble.UNAVAILABLE, "down")

    with Journal(tmp_path) as journal, pytest.raises(ModelError):
        CachedModel(FakeModel(fail), journal, endpoint=URL).answer(request())
    assert (tmp_path / "answers.jsonl").read_bytes() == b""


def test_without_reuse_everything_is_asked_and_still_kept(tmp_path: Path) -> None:
    model = FakeModel()
    for _ in range(2):
        with Journal(tmp_path, reuse=False) as journal:
            CachedModel(model, journal, endpoint=URL).answer(request())
    assert len(model.asked) == 2
    with Journal(tmp_path) as journal:
        assert CachedModel(model, journal, endpoint=URL).recall(request()) is not None


def test_journal_cut_at_any_byte_loses_at_most_the_last_answer_and_takes_more(tmp_path: Path) -> None:
    with Journal(tmp_path / "whole") as journal:
        model = CachedModel(FakeModel(), journal, endpoint=URL)
        for sample in range(3):
            model.answer(request(sample=sample))
    whole = (tmp_path / "whole" / "answers.jsonl").read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    edges = {end + shift for end in ends for shift in (-2, -1, 0)}
    for cut in sorted({*range(0, ends[0], 37), *range(ends[1] - 2, len(whole)), *edges}):
        (tmp_path / "answers.jsonl").write_bytes(whole[:cut])
        # A line is whole once its closing brace is there; the newline after it may be missing.
        kept = sum(end - 1 <= cut for end in ends)
        with Journal(tmp_path) as journal:
            assert len(journal) == kept
            CachedModel(FakeModel(), journal, endpoint=URL).answer(request(sample=99))
        with Journal(tmp_path) as journal:
            assert len(journal) == kept + 1
            assert CachedModel(FakeModel(), journal, endpoint=URL).recall(request(sample=99)) is not None


def test_threads_share_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        model = CachedModel(FakeModel(), journal, endpoint=URL)

        def work(start: int) -> None:
            for number in range(start, start + 25):
                model.answer(request(task=f"t{number}", text=f"q{number}"))

        threads = [threading.Thread(target=work, args=(25 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(200):
            kept = model.recall(request(text=f"q{number}"))
            assert kept is not None
            assert kept.text == f"answer to t{number}"
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 200


def _write(directory: Path, start: int) -> None:
    with Journal(directory) as journal:
        model = CachedModel(FakeModel(lambda r: response(r.task_id * 2000)), journal, endpoint=URL)
        for number in range(start, start + 20):
            model.answer(request(task=f"t{number}", text=f"q{number}"))


def test_processes_share_one_journal(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(tmp_path, 20 * n)) for n in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with Journal(tmp_path) as journal:
        model = CachedModel(FakeModel(), journal, endpoint=URL)
        for number in range(40):
            kept = model.recall(request(text=f"q{number}"))
            assert kept is not None
            assert kept.text == f"t{number}" * 2000


def test_full_disk_is_one_clear_error_and_loses_nothing_kept_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path) as journal:
        model = CachedModel(FakeModel(), journal, endpoint=URL)
        model.answer(request(sample=0))
        before = (tmp_path / "answers.jsonl").read_bytes()
        write, room = os.write, [20]

        def full(fd: int, data: bytes) -> int:
            if not room:
                raise OSError(28, "No space left on device")
            return write(fd, data[: room.pop()])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(IncompleteError, match="No space left on device"):
            model.answer(request(sample=1))
        monkeypatch.undo()
        assert (tmp_path / "answers.jsonl").read_bytes() == before
        model.answer(request(sample=2))
    with Journal(tmp_path) as journal:
        assert len(journal) == 2


def test_journal_that_cannot_be_opened_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="journal"):
        Journal(tmp_path / "file")
    (tmp_path / "answers.jsonl").symlink_to(tmp_path / "file")
    with pytest.raises(UsageError, match="journal"):
        Journal(tmp_path)


def test_journal_is_the_users_alone_and_holds_no_prompt(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        CachedModel(FakeModel(), journal, endpoint="https://user:secret@host").answer(request(text="private question"))
    path = tmp_path / "answers.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "private" not in path.read_text()
    assert "secret" not in path.read_text()


def test_lines_that_are_no_answers_are_skipped(tmp_path: Path) -> None:
    whole = '{"key": "k", "text": "x", "finish": "stop", "usage": {"input": %s}}'
    lines = [b'{"key":"cut', b"[]", b"\xff\xfe", b"\0" * 99, b'{"key": 1}', b'{"key": "k", "text": "x"}', b"null", b""]
    (tmp_path / "answers.jsonl").write_bytes(b"\n".join(lines))
    with Journal(tmp_path) as journal:
        assert len(journal) == 0
    for wrong in ('"many"', "-1", "1.5", "true"):
        (tmp_path / "answers.jsonl").write_bytes(b'{"key":"cut\n' + (whole % wrong).encode())
        with Journal(tmp_path) as journal:
            assert journal.find("k") is None
    (tmp_path / "answers.jsonl").write_bytes(b'{"key":"cut\n' + (whole % "1").encode())
    with Journal(tmp_path) as journal:
        assert journal.find("k") is not None


@pytest.mark.parametrize("content", [b"dear diary\n", b'{"schema": "tjbench/1"}', b"\0\0", b"[]\n", b"\n"])
def test_somebody_elses_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "answers.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match="is no journal"):
        Journal(tmp_path)
    assert (tmp_path / "answers.jsonl").read_bytes() == content


def test_a_pipe_or_a_directory_in_its_place_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "answers.jsonl")
    with pytest.raises(UsageError, match="no journal"):
        Journal(tmp_path)
    (tmp_path / "other" / "answers.jsonl").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot be opened"):
        Journal(tmp_path / "other")


def test_what_another_process_adds_is_found_without_opening_again(tmp_path: Path) -> None:
    asked = FakeModel()
    with Journal(tmp_path) as mine, Journal(tmp_path) as other:
        CachedModel(FakeModel(), other, endpoint=URL).answer(request(text="theirs"))
        cached = CachedModel(asked, mine, endpoint=URL)
        assert cached.answer(request(text="theirs")).reused_from
        cached.answer(request(text="mine"))
        assert CachedModel(asked, other, endpoint=URL).answer(request(text="mine")).reused_from
    assert [r.messages[0]["content"] for r in asked.asked] == ["mine"]


def test_an_answer_that_follows_another_process_killed_in_the_middle_is_kept(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        model = CachedModel(FakeModel(), journal, endpoint=URL)
        model.answer(request(sample=0))
        with (tmp_path / "answers.jsonl").open("ab") as file:
            file.write(b'{"key":"0000","model":"openai:gpt')
        model.answer(request(sample=1))
        assert model.recall(request(sample=1)) is not None
    with Journal(tmp_path) as journal:
        kept = [CachedModel(FakeModel(), journal, endpoint=URL).recall(request(sample=n)) for n in range(2)]
        assert all(kept)


def _ask_all(directory: Path, calls: multiprocessing.SimpleQueue[int]) -> None:
    with Journal(directory) as journal:
        inner = FakeModel(lambda r: response(r.task_id * 500))
        model = CachedModel(inner, journal, endpoint=URL)
        for number in range(30):
            model.answer(request(task=f"t{number}", text=f"q{number}"))
        calls.put(len(inner.asked))


def test_processes_that_ask_the_same_at_once_keep_one_readable_answer_each(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    calls = context.SimpleQueue()
    processes = [context.Process(target=_ask_all, args=(tmp_path, calls)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert len(lines) == calls.get() + calls.get()
    kept = {json.loads(line)["task_id"]: json.loads(line)["text"] for line in lines}
    assert kept == {f"t{number}": f"t{number}" * 500 for number in range(30)}


def test_a_field_that_is_sent_is_part_of_the_key() -> None:
    """A request that grows a field must put it into ``request_key``."""
    assert {field.name for field in fields(Request)} == {"task_id", "sample", "messages", "sampling"}


def test_a_disk_that_is_really_full_keeps_what_it_holds(tmp_path: Path) -> None:
    asked = 0
    with small_disk(tmp_path / "disk", 64) as disk:
        with Journal(disk) as journal:
            model = CachedModel(FakeModel(lambda _: response("x" * 5000)), journal, endpoint=URL)
            with pytest.raises(IncompleteError, match="No space left on device"):
                for asked in range(100):
                    model.answer(request(sample=asked))
        assert 5 < asked < 20
        with Journal(disk) as journal:
            assert len(journal) == asked


def test_closing_the_cache_closes_the_model(tmp_path: Path) -> None:
    model = FakeModel()
    with Journal(tmp_path) as journal:
        CachedModel(model, journal, endpoint=URL).close()
    assert model.closed
