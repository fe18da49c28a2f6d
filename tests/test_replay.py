"""`tjb replay`: what is asked, judged, told and kept of a user's own history, and what never leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.shared import shared
from tests.fakes.telemetry import make_store, span
from tests.fakes.terminal import Terminal, open_terminal
from tjbench.compare.artifact import Artifact
from tjbench.compare.stats import Verdict, wilson_interval
from tjbench.errors import UsageError
from tjbench.replay import since
from tjbench.store.artifacts import load_path
from tjbench.verify import verify

SMALL = ("--candidate", "openai:small")
SECRET = "tangerine-zeppelin"


class Models:
    """The candidate repeats what was recorded of an even question and says something else of an odd one; the judge
    agrees where the answer is the reference."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.original = Reply(text="")

    def __call__(self, ask: Ask) -> Reply:
        if ask.model == "judge":
            shown = json.loads(ask.user)
            return Reply(text=json.dumps({"score": 10 * (shown["answer"] == shown["reference"]), "reason": SECRET}))
        if self.reply:
            return self.reply
        number = int(ask.user.split()[-1])
        right = number % 2 == 0 or ask.model == "big"
        return Reply(text=f"{SECRET} number {number}" if right else "elsewhere entirely")


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
    """A terminal with models on loopback."""
    with open_terminal(tmp_path, monkeypatch, capsys) as opened:
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        opened.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        yield opened


def calls(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        span(n, json.dumps([{"role": "user", "content": f"ask {SECRET} {n}"}]), f"{SECRET} number {n}", **fields)
        for n in range(1, count + 1)
    ]


def history(terminal: Terminal, spans: list[dict[str, Any]]) -> tuple[str, str]:
    make_store(terminal.root / "t.duckdb", spans)
    return "--telemetry", "t.duckdb"


def one(terminal: Terminal) -> Artifact:
    (artifact,) = load_path(terminal.root / "results").artifacts.values()
    return artifact


def test_recorded_answers_are_the_reference_and_nothing_is_tested(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(9)), *SMALL)
    assert said.code == 0
    assert provider.counts()["by_model"] == {"small": 9}
    found = one(terminal)
    assert (found.n_tasks, found.original_pass, found.candidate_pass) == (9, 9, 4)
    low, high = wilson_interval(4, 9)
    assert found.stats.candidate_ci_pp == (round(100 * low, 4), round(100 * high, 4))
    assert found.verdict is Verdict.INSUFFICIENT_EVIDENCE
    assert found.verdict_reason.startswith("no control: 4 of 9 tasks agree")
    assert (found.stats.mcnemar_b, found.stats.mcnemar_p_value) == (0, 1.0)
    assert "agrees with the recorded answers" in said.out
    assert "p =" not in said.out


def test_even_a_candidate_that_never_agrees_is_no_regression_without_a_control(
    terminal: Terminal, models: Models
) -> None:
    models.reply = Reply(text="elsewhere entirely")
    assert terminal.tjb("replay", *history(terminal, calls(60)), *SMALL).code == 0
    assert one(terminal).verdict is Verdict.INSUFFICIENT_EVIDENCE
    gated = terminal.tjb("gate", "--baseline", "results", "--head", "results", "--fail-on", "downsize,regression")
    assert gated.code != 1
    assert "not gated on: 2 replays without --control" in gated.out


def test_with_a_control_the_original_is_asked_too_and_the_paired_test_applies(
    terminal: Terminal, provider: FakeProvider
) -> None:
    assert terminal.tjb("replay", *history(terminal, calls(60)), *SMALL, "--control").code == 0
    assert provider.counts()["by_model"] == {"big": 60, "small": 60}
    found = one(terminal)
    assert (found.original_pass, found.candidate_pass, found.stats.mcnemar_b) == (60, 30, 30)
    assert found.stats.mcnemar_p_value == pytest.approx(2 * 0.5**30)
    assert found.verdict is Verdict.SIGNIFICANT_REGRESSION
    gated = terminal.tjb("gate", "--baseline", "results", "--head", "results", "--json")
    assert [row["suite"] for row in json.loads(gated.out)["rows"]] == ["replay"]


@pytest.mark.parametrize("control", [(), ("--control",)])
def test_an_artifact_of_a_replay_is_borne_out_by_its_tasks(terminal: Terminal, control: tuple[str, ...]) -> None:
    terminal.tjb("replay", *history(terminal, calls(9)), *SMALL, *control)
    assert verify(one(terminal)).mismatches == ()


def test_dollars_of_the_original_are_those_that_tokenjam_stored(terminal: Terminal) -> None:
    spans = calls(4)
    spans[2] |= {"input_tokens": None, "output_tokens": None, "cost_usd": None}
    spans[3] |= {"cost_usd": None, "input_tokens": 1000, "output_tokens": 100}
    terminal.tjb("replay", *history(terminal, spans), *SMALL)
    found = one(terminal)
    by_rates = (1000 * 10 + 100 * 30) / 1_000_000
    assert found.original_cost_usd == pytest.approx(0.0013 * 2 + by_rates)
    usages = [task.candidate.usage for task in found.tasks if task.original.stated_cost_usd is not None]
    spent = sum(usage.input * 1 + usage.output * 3 for usage in usages) / 1_000_000
    assert len(usages) == 3
    assert found.cost_delta_pct == pytest.approx(100 * (spent / (0.0013 * 2 + by_rates) - 1), abs=1e-3)


def test_a_saving_that_lacks_what_was_not_recorded_is_told_as_too_good(terminal: Terminal) -> None:
    """A system text of 5,000 tokens was sent with one of the calls and not recorded."""
    spans = [*calls(1, input_tokens=5000), *calls(3)[1:]]
    given = history(terminal, spans)
    said = terminal.tjb("replay", *given, *SMALL)
    found = one(terminal)
    assert found.replay is not None
    assert found.replay.n_partial == 1
    assert "too good, since 1 of 3 calls had more input than was recorded" in said.out
    again = terminal.tjb("replay", *given, *SMALL, "--control")
    assert "too good" not in again.out  # both are asked alike


def test_a_dated_price_is_that_of_the_instant_of_each_call(terminal: Terminal) -> None:
    """The installed tokenjam (0.6.2 or newer) prices sonnet-5 at 2/10 before September and at 3/15 after."""
    terminal.environ.pop("TJBENCH_TOKENJAM_PYTHON", None)
    about = {"provider": "anthropic", "model": "claude-sonnet-5", "cost_usd": None, "cache_tokens": 500}
    spans = [
        calls(1, **about)[0] | {"span_id": f"{n:016x}", "start_time": at}
        for n, at in enumerate((datetime(2026, 8, 31, tzinfo=UTC), datetime(2026, 9, 2, tzinfo=UTC)), 1)
    ]
    terminal.tjb("replay", *history(terminal, spans), *SMALL, "--mock")
    costs = sorted(task.original.stated_cost_usd or 0 for task in one(terminal).tasks)
    assert costs == pytest.approx([(100 * p + 10 * 5 * p + 500 * p / 10) / 1e6 for p in (2, 3)])


def test_dollars_that_tokenjam_guessed_then_are_its_price_of_that_instant_where_it_has_one(terminal: Terminal) -> None:
    """A store of before 0.6.4 does not say what was guessed: there the placeholder, $0.5 in and $2 out, tells."""
    spans = [
        *calls(1, cost_usd=(100 * 0.5 + 10 * 2) / 1e6),
        *calls(1, span_id="b" * 16, model="strange", cost_usd=(100 * 0.5 + 10 * 2) / 1e6),
        *calls(1, span_id="c" * 16, model="strange-but-told", cost_usd=0.02),
    ]
    make_store(terminal.root / "t.duckdb", spans, newer=False)
    said = terminal.tjb("replay", "--telemetry", "t.duckdb", *SMALL, "--mock", "--json")
    found = {a["original_model"]: a for a in json.loads(said.out)["artifacts"]}
    assert found["openai:big"]["original_cost_usd"] == pytest.approx((100 * 10 + 10 * 30) / 1e6)
    assert found["openai:big"]["priced_with_defaults"] is False
    assert found["openai:strange"]["original_cost_usd"] == pytest.approx(70e-6)
    assert found["openai:strange"]["priced_with_defaults"] is True
    assert found["openai:strange-but-told"]["original_cost_usd"] == pytest.approx(0.02)
    assert "1 of a model without a known price" in said.err
    rerun = terminal.tjb("replay", "--telemetry", "t.duckdb", *SMALL, "--mock", "--control")
    assert "without a known price" not in rerun.out  # recorded dollars are in no comparison then


@pytest.mark.parametrize("name", ["telemetry_0_5_2.duckdb", "telemetry_0_7_0.duckdb"])
def test_both_stores_cost_what_the_installed_tokenjam_bills_at_each_instant(terminal: Terminal, name: str) -> None:
    """0.5.2 billed its placeholder for sonnet-5 and deepseek-chat, which 0.7.0 knows; four models neither knows."""
    terminal.environ.pop("TJBENCH_TOKENJAM_PYTHON", None)
    said = terminal.tjb("replay", "--telemetry", str(shared(f"telemetry/{name}")), *SMALL, "--mock", "--json")
    costs = {a["original_model"]: a["original_cost_usd"] for a in json.loads(said.out)["artifacts"]}
    assert costs["anthropic:claude-sonnet-5"] == pytest.approx((1000 * (2 + 3) + 100 * (10 + 15)) / 1e6)
    assert costs["anthropic:claude-opus-4-8[1m]"] == pytest.approx((200 * 5 + 10 * 25) / 1e6)
    assert costs["deepseek:deepseek-chat"] == pytest.approx((30 * 0.14 + 4 * 0.28) / 1e6)
    assert "4 of a model without a known price" in said.err


def test_each_original_is_an_artifact_of_its_own(terminal: Terminal) -> None:
    spans = calls(3) + [row | {"span_id": f"b{n}", "model": "other"} for n, row in enumerate(calls(2))]
    said = terminal.tjb("replay", *history(terminal, spans), *SMALL, "--json")
    document = json.loads(said.out)
    assert document["n_tasks"] == 5
    assert [(a["original_model"], a["n_tasks"]) for a in document["artifacts"]] == [
        ("openai:big", 3),
        ("openai:other", 2),
    ]
    assert all(Path(terminal.root / a["path"]).is_file() for a in document["artifacts"])
    assert document["telemetry"] == {"n_calls": 5, "with_text": 5, "fates": {"replayable": 5}}


def test_the_candidate_is_what_tokenjam_recommends_and_what_has_none_is_left_out(
    terminal: Terminal, provider: FakeProvider
) -> None:
    spans = calls(2) + [row | {"span_id": f"b{n}", "model": "other"} for n, row in enumerate(calls(3))]
    said = terminal.tjb("replay", *history(terminal, spans), "--json")
    document = json.loads(said.out)
    assert provider.counts()["by_model"] == {"small": 2}
    assert document["artifacts"][0]["slot"] == "recommended"
    assert [(left["original"], left["n_tasks"]) for left in document["left_out"]] == [("openai:other", 3)]
    assert "openai:other (3 calls)" in said.err


def test_where_nothing_is_recommended_a_candidate_has_to_be_named(terminal: Terminal) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(2, model="other")))
    assert said.code == 2
    assert "--candidate provider:model" in said.err


def test_a_call_without_a_provider_can_be_held_against_a_named_candidate(terminal: Terminal) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(2, provider=None)), *SMALL)
    assert said.code == 0
    assert one(terminal).original_model == "unknown:big"
    assert "2 without a provider" in said.out


def test_a_model_judge_decides_agreement_and_its_words_are_not_kept(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(6)), *SMALL, "--judge", "openai:judge")
    assert said.code == 0
    found = one(terminal)
    assert (found.candidate_pass, found.judge) == (3, "openai:judge")
    assert provider.counts()["by_model"] == {"small": 6, "judge": 6}
    assert {task.candidate.detail for task in found.tasks} == {"", "judged 0 of 10, 7 needed"}


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(text=f"{SECRET} and more"), 0),
        (Reply(status=400, message=f"cannot answer {SECRET}"), 3),
        (Reply(text=f"{SECRET} is half of what was to be said of it", finish="length"), 3),
    ],
)
@pytest.mark.parametrize("judge", ["overlap", "openai:judge"])
def test_no_word_of_the_history_or_of_an_answer_is_in_any_result(
    terminal: Terminal, models: Models, reply: Reply, code: int, judge: str
) -> None:
    models.reply = reply
    given = history(terminal, calls(4))
    said = terminal.tjb("replay", *given, *SMALL, "--judge", judge, "--html", "page.html", "--json", "--no-journal")
    assert said.code == code
    told = said.out + said.err
    kept = [path.read_bytes() for path in terminal.root.rglob("*") if path.is_file() and path.suffix != ".duckdb"]
    assert len(kept) >= 2
    for word in SECRET.split("-"):
        assert word not in told
        assert not any(word.encode() in content for content in kept)
    assert not list(terminal.root.rglob("*.transcripts.*"))


def test_hashes_of_short_private_texts_cannot_be_guessed_from_the_texts(terminal: Terminal) -> None:
    spans = [span(n, "yes or no?", "yes") for n in (1, 2)]
    terminal.tjb("replay", *history(terminal, spans), *SMALL, "--mock")
    tasks = one(terminal).tasks
    assert len({task.check_hash for task in tasks}) == len({task.prompt_hash for task in tasks}) == 2


def test_answers_are_kept_for_the_user_alone_and_not_paid_for_twice(
    terminal: Terminal, provider: FakeProvider, tmp_path: Path
) -> None:
    given = history(terminal, calls(4))
    first = terminal.tjb("replay", *given, *SMALL)
    kept = tmp_path / "cache" / "tjbench" / "replay"
    assert str(kept) in first.err
    assert (kept.stat().st_mode & 0o077, (kept / "answers.jsonl").stat().st_mode & 0o077) == (0, 0)
    terminal.tjb("replay", *given, *SMALL)
    assert provider.counts()["total"] == 4


def test_without_a_journal_nothing_is_kept(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.tjb("replay", *history(terminal, calls(2)), *SMALL, "--no-journal").code == 0
    assert not list((tmp_path / "cache").rglob("answers.jsonl"))


def test_the_cap_holds_and_the_reference_costs_nothing(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(3)), *SMALL, "--max-cost-usd", "0.000001")
    assert said.code == 3
    assert provider.counts()["total"] == 0
    assert one(terminal).n_unscored == 3


def test_a_dry_run_says_what_it_would_cost_and_asks_nobody(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(3)), *SMALL, "--dry-run", "--limit", "2")
    assert "openai:small: 2 calls" in said.out
    assert provider.counts()["total"] == 0
    assert not (terminal.root / "results").exists()


def test_nothing_to_replay_says_what_to_set(terminal: Terminal) -> None:
    said = terminal.tjb("replay", *history(terminal, [span(1, "ask"), span(2)]), *SMALL)
    assert said.code == 3
    assert "[capture]\n  prompts = true\n  completions = true" in said.err
    assert "1  prompt recorded, no answer" in said.out


def test_a_narrow_selection_is_told_apart_from_a_history_without_answers(terminal: Terminal) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(1)), *SMALL, "--agent", "nobody")
    assert said.code == 3
    assert "--agent" in said.err
    assert "[capture]" not in said.err


def test_an_unknown_judge_is_refused_before_anything_is_asked(terminal: Terminal, provider: FakeProvider) -> None:
    said = terminal.tjb("replay", *history(terminal, calls(1)), *SMALL, "--judge", "gemini")
    assert said.code == 2
    assert "--judge gemini is not known" in said.err
    assert provider.counts()["total"] == 0


def test_scripted_models_answer_where_no_key_is_there_and_it_is_said(terminal: Terminal) -> None:
    terminal.environ.pop("OPENAI_BASE_URL")
    terminal.environ.pop("OPENAI_API_KEY", None)
    said = terminal.tjb("replay", *history(terminal, calls(2)), *SMALL)
    assert said.code == 0
    assert "MOCK RUN" in said.err
    assert one(terminal).mock


NOW = datetime(2026, 12, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T02:00+02:00", datetime(2026, 11, 1, tzinfo=UTC)),
        (None, None),
    ],
)
def test_since_is_a_date_or_so_long_ago(text: str | None, at: datetime | None) -> None:
    assert since(text, NOW) == at


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "2026-13-01", "999999w"])
def test_any_other_since_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        since(text, NOW)
