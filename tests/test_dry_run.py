"""What a run would ask and may cost, said before anything is spent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.sums import add, sums, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import BIG, PRICES, SMALL, snapshot
from tjbench.config import ModelSpec, config_of
from tjbench.dry_run import estimate, render
from tjbench.models.model import Request
from tjbench.row_plan import RowPlan
from tjbench.rows import plan_rows

OTHER = ModelSpec("openai", "other")


def plans(*proofs: dict[str, object]) -> tuple[RowPlan, ...]:
    found = snapshot(prices={**PRICES, OTHER: (2.0, 6.0)})
    return plan_rows(config_of({"proof": list(proofs)}, "--"), found, lambda name, _: sums(10, name=name)).plans


def test_the_estimate_is_the_longest_answers_at_three_characters_a_token() -> None:
    big, small = estimate(plans({"original": str(BIG), "samples": 2, "max_tokens": 100}), snapshot())
    # "What is 0 + 1?" has 14 characters: 5 tokens; ten tasks, two samples
    assert (big.spec, big.calls, big.input_tokens, big.output_tokens) == (BIG, 20, 100, 2000)
    assert big.cost_usd == pytest.approx((100 * 10 + 2000 * 30) / 1e6)
    assert small.cost_usd == pytest.approx((100 * 1 + 2000 * 3) / 1e6)
    assert big.priced


def test_a_call_that_rows_share_is_counted_once_with_the_most_samples_of_any() -> None:
    shared = plans(
        {"original": str(BIG), "candidate": str(SMALL), "samples": 3},
        {"original": str(BIG), "candidate": str(OTHER)},
        {"original": str(OTHER), "candidate": str(SMALL), "limit": 4},
    )
    found = {e.spec: e.calls for e in estimate(shared, snapshot(prices={**PRICES, OTHER: (2.0, 6.0)}))}
    assert found == {BIG: 30, SMALL: 30, OTHER: 10}
    backwards = {e.spec: e.calls for e in estimate(shared[::-1], snapshot(prices={**PRICES, OTHER: (2.0, 6.0)}))}
    assert backwards == found


def test_a_kept_answer_is_a_call_that_costs_nothing() -> None:
    asked: list[Request] = []

    def kept(spec: ModelSpec, request: Request) -> bool:
        asked.append(request)
        return spec == BIG and request.task_id in {"sum-3", "sum-4"} and request.sample == 1

    big, small = estimate(plans({"original": str(BIG), "samples": 2, "max_tokens": 100}), snapshot(), None, kept)
    assert (big.calls, big.kept, small.calls, small.kept) == (20, 2, 20, 0)
    assert (big.input_tokens, big.output_tokens) == (18 * 5, 18 * 100)
    assert len(asked) == 40
    assert asked[0].messages == ({"role": "user", "content": "What is 0 + 1?"},)


def test_a_cap_sets_aside_more_than_the_estimate() -> None:
    big, _ = estimate(plans({"original": str(BIG), "max_tokens": 100}), snapshot())
    # a token per two bytes and 16 a message: 23 of input, and all of the output
    one = (23 * 10 + 100 * 30) / 1e6
    assert big.dearest_usd == pytest.approx(one)
    assert big.reserved_usd == pytest.approx(10 * one)


def test_every_model_is_named_with_what_is_a_guess_what_is_kept_and_what_the_cap_makes_of_it() -> None:
    guessed = snapshot(sources={SMALL: "default"})
    found = estimate(plans({"original": str(BIG), "max_tokens": 100}), guessed)
    big, small, total = render(found)
    assert big == "openai:big: 10 calls; about 50 input and at most 1,000 output tokens, at most $0.0305"
    assert small.endswith("at most $0.0031 (placeholder price: TokenJam does not know this model)")
    assert total == "in all at most $0.0335; nothing was called"
    kept = [replace(found[0], kept=4), found[1]]
    assert next(render(kept)).startswith("openai:big: 10 calls, 4 of them kept in the journal; about")
    # set aside are 10 * (23 * 10 + 100 * 30) / 1e6 = 0.0323 and 10 * (23 + 300) / 1e6 = 0.00323
    assert list(render(found, 0.0356))[-1] == "the cap of $0.0356 is enough for every answer at its full length"
    assert list(render(found, 0.0354))[-1].startswith("the cap of $0.0354 may be hit; the run then ends incomplete")
    assert list(render(found, 0.0032))[-1].startswith("the cap of $0.0032 will be hit: one call may cost $0.0032; ")


# --- as a command

SUITE = ("--benchmark", "sums.jsonl")
PAIR = ("--original", "openai:big", "--candidate", "openai:small")


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(lambda ask: Reply(text=add(ask.user))) as running:
        yield running


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: FakeProvider
) -> Iterator[Terminal]:
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        (opened.root / "sums.jsonl").write_text(sums_jsonl(30))
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        yield opened


def files(terminal: Terminal) -> dict[Path, bytes]:
    """Every file in the home directory but what an interpreter compiles for itself."""
    home = Path(terminal.environ["HOME"])
    found = (path for path in home.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path: path.read_bytes() for path in found}


def test_nothing_is_called_and_nothing_is_written(terminal: Terminal, provider: FakeProvider) -> None:
    before = files(terminal)
    said = terminal.tjb(
        "run", *SUITE, *PAIR, "--dry-run", "--max-tokens", "100", "--html", "page.html", "--journal", "kept"
    )
    assert said.code == 0
    # thirty answers of 100 tokens at 30 dollars a million are 0.09 dollars, and some prompts
    assert "openai:big: 30 calls" in said.out
    assert "at most 3,000 output tokens, at most $0.09" in said.out
    assert "nothing was called" in said.out
    assert provider.asks == []
    assert files(terminal) == before
    assert not (terminal.root / "kept").exists()
    assert not (Path(terminal.environ["XDG_CACHE_HOME"]) / "tjbench" / "journal").exists()


def test_what_the_journal_holds_is_told_and_not_paid_for(terminal: Terminal, provider: FakeProvider) -> None:
    terminal.tjb("run", *SUITE, *PAIR, "--limit", "20", "--journal", "kept")
    asked, before = len(provider.asks), files(terminal)
    said = terminal.tjb("run", *SUITE, *PAIR, "--journal", "kept", "--dry-run", "--json")
    document = json.loads(said.out)
    assert [(one["model"], one["calls"], one["kept"]) for one in document["models"]] == [
        ("openai:big", 30, 20),
        ("openai:small", 30, 20),
    ]
    assert [one["output_tokens"] for one in document["models"]] == [10 * 2048, 10 * 2048]
    assert (document["dry_run"], document["mock"], document["max_cost_usd"]) == (True, False, None)
    assert "openai:big: 30 calls, 20 of them kept in the journal" in said.err
    anew = terminal.tjb("run", *SUITE, *PAIR, "--journal", "kept", "--dry-run", "--no-cache", "--json")
    assert [one["kept"] for one in json.loads(anew.out)["models"]] == [0, 0]
    assert len(provider.asks) == asked
    assert files(terminal) == before
    terminal.tjb("run", *SUITE, *PAIR, "--journal", "kept")
    assert len(provider.asks) - asked == 20  # as it was said


def test_a_cap_that_the_run_refuses_is_refused(terminal: Terminal) -> None:
    words = ("run", *SUITE, "--original", "openai:big", "--candidate", "openai:unheard-of", "--max-cost-usd", "1")
    real, dry = terminal.tjb(*words), terminal.tjb(*words, "--dry-run")
    assert (real.code, dry.code) == (2, 2)
    assert dry.err == real.err
    assert "has no known price" in dry.err
    assert terminal.tjb(*words, "--allow-unpriced", "--dry-run").code == 0


def test_a_cap_that_will_be_hit_is_told(terminal: Terminal) -> None:
    words = ("run", *SUITE, *PAIR, "--max-cost-usd", "0.06")
    said = terminal.tjb(*words, "--dry-run")
    # 2,048 tokens of output; of input one per two of 4 + 15 bytes, and 16 for each of two messages
    assert f"{(2048 * 30 + (9 + 32) * 10) / 1e6:.4f}" == "0.0619"
    assert "the cap of $0.0600 will be hit: one call may cost $0.0619; the run then ends incomplete" in said.out
    assert terminal.tjb(*words).code == 3


def test_without_a_key_it_says_that_the_run_would_be_a_mock(terminal: Terminal) -> None:
    del terminal.environ["OPENAI_BASE_URL"]
    said = terminal.tjb("run", *SUITE, *PAIR, "--dry-run")
    assert said.code == 0
    assert "at most $" in said.out
    assert "scripted models would answer this run, for nothing" in said.out
    refused = terminal.tjb("run", *SUITE, *PAIR, "--dry-run", "--no-mock")
    assert refused.code == 0
    assert refused.err == "warning: the run itself would not begin: missing key: OPENAI_API_KEY\n"


def test_a_file_that_is_no_journal_is_an_error_and_stays(terminal: Terminal) -> None:
    (terminal.root / "kept").mkdir()
    (terminal.root / "kept/answers.jsonl").write_text("mine\n")
    said = terminal.tjb("run", *SUITE, *PAIR, "--dry-run", "--journal", "kept")
    assert said.code == 2
    assert "is no journal" in said.err
    assert (terminal.root / "kept/answers.jsonl").read_text() == "mine\n"
