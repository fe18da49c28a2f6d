"""`tjb run`: what it measures, prints and keeps."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.sums import add, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import RECOMMENDED, make_tokenjam
from tjbench.config import ModelSpec
from tjbench.store.artifacts import load_path

SUITE = ("--benchmark", "sums.jsonl")


class Models:
    """Answer right, or as ``reply`` says."""

    reply: Reply | None = None
    delay_s = 0.0

    def __call__(self, ask: Ask) -> Reply:
        return self.reply or Reply(text=add(ask.user), delay_s=self.delay_s)


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
def provider(models: Models) -> Iterator[FakeProvider]:
    with FakeProvider(models) as running:
        yield running


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: FakeProvider
) -> Iterator[Terminal]:
    """A terminal with a suite of thirty sums and models on loopback."""
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(30))
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        yield opened


PAIR = ("--original", "openai:big", "--candidate", "openai:small")


def test_a_pair_is_measured_told_and_kept(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR)
    assert said.code == 0
    ((name, artifact),) = load_path(terminal.root / "results").artifacts.items()
    assert said.out.rstrip().endswith(f"/results/{name}")
    assert (artifact.original_pass, artifact.candidate_pass, artifact.slot) == (30, 30, "openai:small")
    assert provider.counts()["by_model"] == {"big": 30, "small": 30}
    transcript = (terminal.root / "results" / name).with_suffix(".transcripts.jsonl.gz")
    with gzip.open(transcript, "rt") as lines:
        answers = [json.loads(line) for line in lines]
    assert len(answers) == 60
    assert {answer["attempt"]["text"] for answer in answers} >= {"#### 1", "#### 30"}
    assert transcript.stat().st_mode & 0o077 == 0


def test_json_is_the_artifact_and_nothing_else_on_stdout(terminal: Terminal) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR, "--json", "--samples", "2", "--limit", "3", "--seed", "5")
    document = json.loads(said.out)
    (path,) = (terminal.root / "results").glob("tjbench_*.json")
    assert document == json.loads(path.read_text())
    assert (document["n_tasks"], document["sampling"]["samples"], document["seed"]) == (3, 2, 5)
    assert "artifact: " in said.err


def test_the_candidate_is_what_tokenjam_recommends(terminal: Terminal) -> None:
    said = terminal.tjb("run", *SUITE, "--original", "openai:big", "--json")
    document = json.loads(said.out)
    assert (document["candidate_model"], document["slot"]) == ("openai:small", "recommended")
    said = terminal.tjb("run", *SUITE, "--original", "openai:small")
    assert said.code == 2
    assert said.err.startswith("tjb: tokenjam 9.1.0 recommends no cheaper model for openai:small\n")
    assert "--candidate" in said.err


def test_the_parameters_asked_for_are_sent(terminal: Terminal, provider: FakeProvider) -> None:
    terminal.tjb("run", *SUITE, *PAIR, "--limit", "1", "--temperature", "0.3", "--max-tokens", "77", "--seed", "9")
    for ask in provider.asks:
        assert (ask.body["temperature"], ask.body["seed"]) == (0.3, 9)
        assert 77 in (ask.body.get("max_tokens"), ask.body.get("max_completion_tokens"))
    provider.asks.clear()
    terminal.tjb("run", *SUITE, *PAIR, "--limit", "1")
    assert all("temperature" not in ask.body and "seed" not in ask.body for ask in provider.asks)


def test_a_verdict_never_fails_a_measurement(terminal: Terminal, models: Models) -> None:
    models.reply = Reply(text="#### -1")
    assert terminal.tjb("run", *SUITE, *PAIR).code == 0


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=402, message="no available credits"), 3),
        (Reply(status=401, message="invalid api key"), 2),
        (Reply(status=404, message="the model `big` does not exist", code="model_not_found"), 2),
    ],
    ids=["quota", "key", "model"],
)
def test_a_provider_that_refuses_ends_the_run_with_its_words(
    terminal: Terminal, models: Models, provider: FakeProvider, reply: Reply, code: int
) -> None:
    models.reply = reply
    said = terminal.tjb("run", *SUITE, *PAIR, "--concurrency", "1")
    assert said.code == code
    assert reply.message.replace("`", "") in said.err.replace("`", "")
    assert len(provider.asks) == 1


def test_an_interrupted_run_goes_on_where_it_was(terminal: Terminal, models: Models, provider: FakeProvider) -> None:
    terminal.tjb("run", *SUITE, *PAIR, "--limit", "20", "--journal", "journal")
    provider.asks.clear()
    said = terminal.tjb("run", *SUITE, *PAIR, "--journal", "journal", "--json")
    assert len(provider.asks) == 2 * 10
    document = json.loads(said.out)
    assert document["flags"] == ["reused"]
    reused = [task["original"]["reused_from"] for task in document["tasks"]]
    assert [bool(source) for source in reused] == [True] * 20 + [False] * 10
    assert {source[:10] for source in reused if source} == {"journal 20"}
    # all answers are worth what the artifact says, and all sums cost about as much: two thirds of it were kept
    worth = document["original_cost_usd"] + document["candidate_cost_usd"]
    spent, kept = re.findall(r"\$(0\.\d+)", next(line for line in said.err.splitlines() if "spent now" in line))
    assert "on 20 answers; 40 answers came from the journal for $0, worth" in said.err
    assert float(spent) + float(kept) == pytest.approx(worth, abs=2e-4)
    assert float(spent) == pytest.approx(worth / 3, rel=0.1)
    provider.asks.clear()
    said = terminal.tjb("run", *SUITE, *PAIR, "--journal", "journal", "--no-cache")
    assert len(provider.asks) == 2 * 30
    assert "spent now" not in said.out + said.err


def test_what_may_have_been_billed_unseen_is_said(terminal: Terminal, models: Models, provider: FakeProvider) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR, "--limit", "1", "--max-tokens", "100")
    assert "may have been billed" not in said.out + said.err
    models.reply = Reply(raw='{"id": "x", "choi')
    said = terminal.tjb("run", *SUITE, *PAIR, "--limit", "1", "--max-tokens", "100", "--no-cache", "--concurrency", "1")
    assert said.code == 3
    # each asking may cost 100 tokens of output and a few of input: at 30 and at 3 dollars a million about 0.003 each
    at_most = sum(0.0030 if ask.body["model"] == "big" else 0.0003 for ask in provider.asks[2:])
    found = re.search(r"may have been billed, at most \$(0\.\d+);", said.out)
    assert found
    assert at_most < float(found[1]) < at_most * 1.2


def test_a_cap_is_never_passed(terminal: Terminal) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR, "--max-cost-usd", "0.0625", "--json")
    document = json.loads(said.out)
    assert said.code == 3
    assert document["original_cost_usd"] + document["candidate_cost_usd"] <= 0.0625
    assert document["n_unscored"] > 0


def test_a_cap_warns_before_it_is_hit_and_what_is_finished_is_kept(terminal: Terminal) -> None:
    def wordy(ask: Ask) -> Reply:
        usage = {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}
        return Reply(text=add(ask.user), usage=usage)

    # One at a time, a pair costs 100 + 2,700 and 10 + 270 millionths of a dollar. A call of the original is made while
    # 41 tokens of input and 100 of output are left, which is 3,410.
    cap, spent, pairs, warned_at = 30_000, 0, 0, 0
    while spent + 3410 <= cap:
        for cost in (2800, 280):
            if spent < 0.8 * cap <= spent + cost:
                warned_at = spent + cost
            spent += cost
        pairs += 1
    words = ("--max-tokens", "100", "--max-cost-usd", "0.03", "--concurrency", "1", "--journal", "journal", "--json")
    with FakeProvider(wordy) as costly:
        terminal.environ["OPENAI_BASE_URL"] = costly.openai_url
        said = terminal.tjb("run", *SUITE, *PAIR, *words)
        asked = len(costly.asks)
    assert said.code == 3
    assert f"warning: ${warned_at / 1e6:.4f} of the $0.0300 that this run may spend is spent\n" in said.err
    document = json.loads(said.out)
    assert document["n_scored"] == pairs
    assert [task["original"]["cause"] for task in document["tasks"]] == [None] * pairs + ["budget"] * (30 - pairs)
    assert len((terminal.root / "journal/answers.jsonl").read_bytes().splitlines()) == asked
    assert "calls failed (budget): " in said.err


def test_a_deadline_ends_the_asking_and_the_next_run_goes_on_from_there(
    terminal: Terminal, models: Models, provider: FakeProvider
) -> None:
    """Sixty calls of a second, four at once, take fifteen; they may begin for little more than one."""
    kept = ("--journal", "journal", "--concurrency", "4", "--json")
    models.delay_s = 1.0
    said = terminal.tjb("run", *SUITE, *PAIR, *kept, "--deadline-minutes", "0.02")
    document, asked = json.loads(said.out), len(provider.asks)
    assert said.code == 3
    assert asked < 60
    causes = Counter(task[side]["cause"] for task in document["tasks"] for side in ("original", "candidate"))
    assert causes == Counter({None: asked, "deadline": 60 - asked})
    assert "--deadline-minutes 0.02" in said.err
    models.delay_s = 0.0
    again = terminal.tjb("run", *SUITE, *PAIR, *kept)
    assert again.code == 0
    assert json.loads(again.out)["n_scored"] == 30
    assert len(provider.asks) == 60


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_that_is_none_is_refused(terminal: Terminal, provider: FakeProvider, minutes: str) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR, "--deadline-minutes", minutes)
    assert said.code == 2
    assert "deadline" in said.err
    assert provider.asks == []


def test_a_page_is_written_where_asked(terminal: Terminal) -> None:
    said = terminal.tjb("run", *SUITE, *PAIR, "--limit", "2", "--html", "out/page.html")
    assert "report: out/page.html" in said.out
    assert (terminal.root / "out/page.html").read_text().startswith("<!doctype html>")


# --- without keys


def test_without_any_key_it_is_a_mock_and_says_so_loudly(terminal: Terminal, provider: FakeProvider) -> None:
    del terminal.environ["OPENAI_BASE_URL"]
    said = terminal.tjb("run", *SUITE, *PAIR, "--json")
    assert said.code == 0
    assert said.err.startswith("MOCK RUN: scripted models answer")
    document = json.loads(said.out)
    assert (document["mock"], document["flags"]) == (True, ["mock"])
    assert provider.asks == []
    assert terminal.tjb("run", *SUITE, *PAIR, "--no-mock").code == 2


def test_some_keys_but_not_all_are_an_error(terminal: Terminal) -> None:
    del terminal.environ["OPENAI_BASE_URL"]
    terminal.environ["OPENAI_API_KEY"] = "k"
    said = terminal.tjb("run", *SUITE, "--original", "anthropic:claude-opus-4-7", "--candidate", "openai:small")
    assert said.code == 2
    assert "missing key: ANTHROPIC_API_KEY" in said.err


DATED = "anthropic:claude-opus-4-20250514"
BEDROCK = "bedrock:us.anthropic.claude-opus-4-1-20250805-v1:0"


@pytest.mark.parametrize(
    ("original", "candidate"),
    [
        (DATED, "anthropic:claude-haiku-4-5-20251001"),
        (BEDROCK, "bedrock:anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("openai:ft:gpt-4o:acme::a1b2", "openai:gpt-4o-mini"),
    ],
)
def test_the_line_that_tokenjam_prints_works(terminal: Terminal, original: str, candidate: str) -> None:
    """Ids may hold more colons; the first one ends the provider."""
    prices = {ModelSpec.parse(text): (2.0, 8.0) for text in (original, candidate)}
    python = make_tokenjam(terminal.root.parent / "other", recommended=RECOMMENDED, prices=prices)
    terminal.environ["TJBENCH_TOKENJAM_PYTHON"] = str(python)
    terminal.environ.pop("OPENAI_BASE_URL")
    said = terminal.tjb("run", "--original", original, "--candidate", candidate, "--mock", "--limit", "2", "--json")
    assert said.code == 0
    document = json.loads(said.out)
    assert (document["original_model"], document["candidate_model"]) == (original, candidate)
    assert document["suite"]["name"] == "samples"
    assert document["rates"][original]["source"] == "packaged"


def test_a_cloud_that_is_not_asked_directly_says_what_to_do(terminal: Terminal) -> None:
    said = terminal.tjb("run", *SUITE, "--original", BEDROCK, "--candidate", "openai:small", "--no-mock")
    assert said.code == 2
    assert "cannot be asked directly" in said.err
    assert "Traceback" not in said.err


def test_a_machine_without_git_measures_all_the_same(terminal: Terminal) -> None:
    terminal.environ["PATH"] = str(terminal.root)
    said = terminal.tjb("run", *SUITE, *PAIR, "--mock", "--limit", "2", "--json")
    assert (said.code, json.loads(said.out)["commit"]) == (0, None)
