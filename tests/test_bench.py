"""Rows measured with models of our making: what is called, what is kept of it, and what is said about it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model import FakeModel, response
from tests.fakes.sums import add, sums
from tests.fakes.tokenjam import BIG, PRICES, SMALL, snapshot
from tjbench.bench import Bench, BenchResult
from tjbench.compare.artifact import RECOMMENDED, Artifact, Flag
from tjbench.compare.pair import Rule
from tjbench.compare.stats import Verdict
from tjbench.config import ModelSpec
from tjbench.measured import build_trial
from tjbench.models.mock import MockModel
from tjbench.models.model import Finish, Model, ModelError, Request, Response, Sampling, Trouble
from tjbench.pricing import Usage
from tjbench.row_plan import RowPlan, Settings
from tjbench.runner.attempt import Attempt
from tjbench.runner.patience import Patience
from tjbench.scoring.score import PASSED, Cause, Score, failed
from tjbench.suites import load_suite
from tjbench.suites.task import Suite
from tjbench.tokenjam import Snapshot

OTHER = ModelSpec("openai", "other")
THREE = {**PRICES, OTHER: (2.0, 6.0)}
PLAIN = snapshot(prices=THREE)
Answering = Callable[[Request], Response]


def right(request: Request) -> Response:
    return response(add(request.messages[-1]["content"]))


def wrong(request: Request) -> Response:
    return response("#### -1")


def refusing(trouble: Trouble, words: str = "no") -> Answering:
    def refuse(request: Request) -> Response:
        raise ModelError(trouble, words)

    return refuse


def plan(
    suite: Suite,
    *,
    original: ModelSpec = BIG,
    candidate: ModelSpec = SMALL,
    samples: int = 1,
    sampling: Sampling | None = None,
) -> RowPlan:
    return RowPlan(
        suite=suite,
        original=original,
        candidate=candidate,
        slot=RECOMMENDED,
        recommended_by="a test",
        sampling=sampling or Sampling(),
        samples=samples,
        rule=Rule(),
    )


class Shop:
    """Opens one fake model a spec, answering as ``answers`` says (right by default)."""

    def __init__(self, answers: Mapping[ModelSpec, Answering] | None = None) -> None:
        self.answers = answers or {}
        self.opened: list[FakeModel] = []

    def open(self, spec: ModelSpec, suite: Suite) -> Model:
        self.opened.append(FakeModel(self.answers.get(spec, right), spec))
        return self.opened[-1]

    def calls(self) -> Counter[tuple[str, str, int]]:
        return Counter((str(m.spec), asked.task_id, asked.sample) for m in self.opened for asked in m.asked)


def run(
    shop: Shop, *plans: RowPlan, found: Snapshot = PLAIN, settings: Settings | None = None, **collaborators: Any
) -> BenchResult:
    bench = Bench(snapshot=found, open_model=shop.open, settings=settings or Settings(), **collaborators)
    return bench.run(plans)


def only(result: BenchResult) -> Artifact:
    (measured,) = result.measured
    return measured.artifact


# --- what is called


def test_a_call_that_several_rows_share_is_made_once() -> None:
    shop = Shop()
    result = run(
        shop,
        plan(sums(3), candidate=SMALL),
        plan(sums(3), candidate=OTHER),
        plan(sums(2), original=SMALL, candidate=OTHER),
    )
    assert set(shop.calls().values()) == {1}
    assert shop.calls().total() == 3 * 3
    assert [measured.artifact.n_tasks for measured in result.measured] == [3, 3, 2]
    assert len(shop.opened) == 3


def test_a_row_that_asks_for_more_samples_shares_the_first_ones() -> None:
    shop = Shop()
    run(shop, plan(sums(2)), plan(sums(2), candidate=OTHER, samples=3))
    assert {sample for spec, _, sample in shop.calls() if spec == str(SMALL)} == {0}
    assert {sample for spec, _, sample in shop.calls() if spec == str(BIG)} == {0, 1, 2}
    assert shop.calls().total() == 2 * (1 + 3 + 3)


def test_another_suite_or_other_parameters_make_another_call() -> None:
    shop = Shop()
    warm = Sampling(temperature=1.0)
    run(shop, plan(sums(2)), plan(sums(2, name="others")), plan(sums(2), candidate=OTHER, sampling=warm))
    assert shop.calls()[str(BIG), "sum-0", 0] == 3
    sent = {(asked.sampling, asked.task_id) for model in shop.opened for asked in model.asked}
    assert len(sent) == 2 * 2


def test_an_original_held_against_itself_is_called_once() -> None:
    shop = Shop()
    artifact = only(run(shop, plan(sums(4), candidate=BIG)))
    assert shop.calls().total() == 4
    assert (artifact.original_pass, artifact.candidate_pass, artifact.cost_delta_pct) == (4, 4, 0)


def test_every_model_is_closed_also_when_the_run_ends_in_an_error() -> None:
    shop = Shop()
    run(shop, plan(sums(2)))
    assert [model.closed for model in shop.opened] == [True, True]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    broken = Shop()
    with pytest.raises(KeyboardInterrupt):
        run(broken, plan(sums(2)), watch=interrupt)
    assert [model.closed for model in broken.opened] == [True, True]


def test_calls_overlap_up_to_the_concurrency() -> None:
    together = threading.Barrier(4, timeout=10)

    def meet(request: Request) -> Response:
        together.wait()  # breaks unless four calls are in flight at once
        return right(request)

    result = run(Shop({BIG: meet, SMALL: meet}), plan(sums(4)), settings=Settings(concurrency=4))
    assert only(result).n_scored == 4


def test_every_scored_attempt_is_told_of() -> None:
    seen: list[tuple[ModelSpec, str, bool | None]] = []
    run(
        Shop({SMALL: wrong}),
        plan(sums(2)),
        watch=lambda spec, attempt, score: seen.append((spec, attempt.task_id, score.passed)),
    )
    assert sorted(seen) == [
        (BIG, "sum-0", True),
        (BIG, "sum-1", True),
        (SMALL, "sum-0", False),
        (SMALL, "sum-1", False),
    ]


# --- what is kept


def test_the_artifact_says_what_was_measured() -> None:
    answers = {BIG: right, SMALL: lambda request: right(request) if request.task_id != "sum-1" else wrong(request)}
    sampling = Sampling(max_tokens=99, temperature=0.5, seed=7)
    artifact = only(
        run(
            Shop(answers),
            plan(sums(50), sampling=sampling),
            settings=Settings(seed=7, commit="c" * 40),
        )
    )
    assert (artifact.original_pass, artifact.candidate_pass, artifact.n_scored) == (50, 49, 50)
    assert artifact.accuracy_delta_pp == -2
    assert artifact.verdict is Verdict.NO_SIGNIFICANT_REGRESSION
    assert (artifact.sampling.max_tokens, artifact.sampling.temperature, artifact.seed) == (99, 0.5, 7)
    assert (artifact.commit, artifact.tokenjam_version, artifact.sandbox_level) == ("c" * 40, "9.1.0", "not_used")
    # a fake answer has 10 tokens in and 5 out; 10 and 30 dollars a million on one side, 1 and 3 on the other
    assert artifact.original_cost_usd == pytest.approx(50 * (10 * 10 + 5 * 30) / 1e6)
    assert artifact.candidate_cost_usd == pytest.approx(50 * (10 * 1 + 5 * 3) / 1e6)
    assert artifact.claimed_saving_pct == pytest.approx(90)
    assert artifact.cost_delta_pct == pytest.approx(-90)
    task = artifact.tasks[1]
    assert (task.task_id, task.check_hash, task.prompt_hash) == (
        "sum-1",
        sums(2).tasks[1].check_hash,
        sums(2).tasks[1].prompt_hash,
    )
    assert (task.original.passes, task.candidate.passes, task.candidate.cause) == (1, 0, "wrong_answer")


def test_tasks_and_answers_keep_the_order_of_the_suite_whatever_comes_back_first() -> None:
    result = run(Shop(), plan(sums(30), samples=2), settings=Settings(concurrency=8))
    ids = [f"sum-{n}" for n in range(30)]
    assert [task.task_id for task in only(result).tasks] == ids
    (measured,) = result.measured
    assert [(str(a.model), a.attempt.task_id, a.attempt.sample) for a in measured.answers] == [
        (spec, task_id, sample) for spec in (str(BIG), str(SMALL)) for task_id in ids for sample in (0, 1)
    ]
    line = measured.answers[0].as_json()
    assert line["model"] == "openai:big"


def scored(
    sample: int, score: Score, *, latency_s: float | None = None, reused: str | None = None
) -> tuple[Attempt, Score]:
    attempt = Attempt(
        task_id="t",
        sample=sample,
        text="x",
        usage=Usage(input=10, output=1),
        latency_s=latency_s,
        finish=Finish.STOP,
        reused_from=reused,
    )
    return attempt, score


def test_a_trial_sums_its_samples_and_tells_of_the_first_that_did_not_pass() -> None:
    trial = build_trial(
        [
            scored(0, PASSED, latency_s=1.0),
            scored(1, failed(Cause.WRONG_ANSWER, "said 4\n\x1b[31mnot 5 \ud800"), latency_s=2.0),
            scored(2, failed(Cause.TRUNCATED, "cut")),
            scored(3, PASSED, reused="journal 2026"),
        ]
    )
    assert (trial.passes, trial.samples, trial.unscored) == (2, 4, 1)
    assert trial.usage == Usage(input=40, output=4)
    assert trial.latency_s == 1.5
    assert (trial.cause, trial.detail) == ("wrong_answer", "said 4 \ufffd[31mnot 5 \ufffd")
    assert trial.reused_from == "journal 2026"


def test_a_trial_of_passes_has_no_cause_and_a_long_detail_is_cut() -> None:
    assert build_trial([scored(0, PASSED)]).cause is None
    assert build_trial([scored(0, PASSED)]).latency_s is None
    assert len(build_trial([scored(0, failed(Cause.EXCEPTION, "e" * 5000))]).detail) == 200


def test_an_answer_without_usage_costs_nothing_that_we_know_of() -> None:
    silent = response("#### 1")
    result = run(Shop({BIG: lambda _: replace(silent, usage=None)}), plan(sums(1), candidate=BIG))
    assert (result.spending.spent_usd, only(result).original_cost_usd) == (0, 0)


# --- flags


def flags_of(shop: Shop, *, found: Snapshot = PLAIN, settings: Settings | None = None, count: int = 12) -> set[Flag]:
    return set(only(run(shop, plan(sums(count)), found=found, settings=settings)).flags)


def test_an_ordinary_run_has_no_flag() -> None:
    assert flags_of(Shop()) == set()


def test_a_placeholder_price_is_flagged_and_claims_no_saving() -> None:
    artifact = only(run(Shop(), plan(sums(1)), found=snapshot(sources={SMALL: "default"})))
    assert (artifact.flags, artifact.priced_with_defaults, artifact.claimed_saving_pct) == (
        (Flag.DEFAULT_RATES,),
        True,
        None,
    )


def test_cached_tokens_that_tokenjam_has_no_rate_for_are_flagged() -> None:
    known = snapshot()
    small = replace(known.rates[SMALL], cache_read_specified=False)
    lacking = replace(known, rates={**known.rates, SMALL: small})
    used = Usage(input=10, output=5, cache_read=90)
    cached = Shop({SMALL: lambda request: replace(right(request), usage=used)})
    assert flags_of(cached, found=lacking) == {Flag.UNKNOWN_CACHE_RATE}
    assert flags_of(cached, found=known) == set()
    assert flags_of(Shop(), found=lacking) == set()


def test_an_overridden_price_is_flagged() -> None:
    assert flags_of(Shop(), found=snapshot(sources={BIG: "override"})) == {Flag.OVERRIDES}


def test_reused_answers_are_flagged_and_cost_nothing_again() -> None:
    kept = {BIG: lambda request: replace(right(request), reused_from="journal 2026-01-01")}
    result = run(Shop(kept), plan(sums(2)))
    assert only(result).flags == (Flag.REUSED,)
    assert result.spending.spent_usd == pytest.approx(2 * (10 * 1 + 5 * 3) / 1e6)
    assert only(result).original_cost_usd == pytest.approx(2 * (10 * 10 + 5 * 30) / 1e6)


def test_a_mock_run_is_flagged_and_spends_nothing() -> None:
    result = run(Shop(), plan(sums(2)), settings=Settings(mock=True, max_cost_usd=0.0))
    assert (only(result).flags, only(result).mock, result.mock, result.spending.spent_usd) == (
        (Flag.MOCK,),
        True,
        True,
        0,
    )


@pytest.mark.parametrize(
    ("failing", "answer", "suspected"),
    [
        (5, "", False),  # no_answer says nothing of the harness
        (5, "no code here", True),
        (2, "no code here", False),  # two failures are chance
    ],
)
def test_one_cause_behind_most_failures_makes_the_scorer_suspect(failing: int, answer: str, suspected: bool) -> None:
    suite = load_suite("humaneval", workspace=Path())
    suite = replace(suite, tasks=suite.tasks[:6])
    canned = {task.id: (task.canned.right, answer) for task in suite.tasks if task.canned}
    bad = set(list(canned)[:failing])

    def answering(request: Request) -> Response:
        return response(canned[request.task_id][request.task_id in bad])

    artifact = only(
        run(Shop({BIG: answering, SMALL: answering}), plan(suite, candidate=BIG), settings=Settings(mock=True))
    )
    assert artifact.original_pass == 6 - failing
    assert (Flag.SUSPECT_SCORER in artifact.flags) is suspected


# --- what goes wrong


def test_calls_that_failed_are_told_most_frequent_first() -> None:
    def sometimes(request: Request) -> Response:
        if request.task_id == "sum-3":
            raise ModelError(Trouble.TIMEOUT, "openai:big: no\n answer in time")
        return right(request)

    shop = Shop({BIG: sometimes, SMALL: refusing(Trouble.UNAVAILABLE, "openai:small: HTTP 503")})
    result = run(shop, plan(sums(4)), settings=Settings(patience=Patience(tries={})))
    assert result.problems == (
        "openai:small: 4 calls failed (unavailable): openai:small: HTTP 503",
        "openai:big: 1 call failed (timeout): openai:big: no answer in time",
    )
    artifact = only(result)
    assert (artifact.n_scored, artifact.n_unscored, artifact.incomplete) == (0, 4, True)
    assert artifact.tasks[3].original.cause == "provider_error"
    assert not result.misconfigured


@pytest.mark.parametrize(
    ("trouble", "misconfigured"),
    [(Trouble.AUTHENTICATION, True), (Trouble.NOT_FOUND, True), (Trouble.QUOTA, False)],
)
def test_a_permanent_trouble_ends_the_asking(trouble: Trouble, misconfigured: bool) -> None:
    shop = Shop({SMALL: refusing(trouble)})
    result = run(shop, plan(sums(50)), settings=Settings(concurrency=1))
    assert shop.calls() == {("openai:big", "sum-0", 0): 1, ("openai:small", "sum-0", 0): 1}
    artifact = only(result)
    assert artifact.incomplete
    assert (artifact.n_scored, artifact.tasks[0].original.passes) == (0, 1)
    assert artifact.tasks[9].candidate.detail.startswith("not asked")
    assert result.misconfigured is misconfigured


def test_a_budget_that_runs_out_keeps_what_was_answered() -> None:
    """10 tokens in and 5 out are spent a call; a prompt of 14 or 15 bytes counts as 23 tokens before it is asked."""
    cap, spent, pairs = 0.01, 0.0, 0
    while spent + (23 * 10 + 100 * 30) / 1e6 <= cap:
        spent += (10 * 10 + 5 * 30) / 1e6 + (10 * 1 + 5 * 3) / 1e6
        pairs += 1
    warned: list[str] = []
    shop = Shop()
    result = run(
        shop,
        plan(sums(80), sampling=Sampling(max_tokens=100)),
        settings=Settings(concurrency=1, max_cost_usd=cap),
        warn=warned.append,
    )
    assert pairs == sum(count for (spec, _, _), count in shop.calls().items() if spec == "openai:big")
    assert spent <= result.spending.spent_usd <= cap
    artifact = only(result)
    assert (artifact.n_scored, artifact.original_pass, artifact.incomplete) == (pairs, pairs, True)
    assert artifact.tasks[pairs].original.cause == "budget"
    assert any("budget" in problem for problem in result.problems)
    # the candidate alone, $0.000025 a call, can still be asked, and comes to just 80 % of the cap
    assert warned == ["$0.0080 of the $0.0100 that this run may spend is spent"]


def test_a_scorer_that_breaks_breaks_the_run() -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Shop(), plan(sums(3)), watch=broken)


def test_a_packaged_suite_is_mocked_with_code_that_runs() -> None:
    suite = load_suite("samples", workspace=Path())
    suite = replace(suite, tasks=suite.tasks[:4])
    assert suite.executes_code
    canned = {task.id: (task.canned.right, task.canned.wrong) for task in suite.tasks if task.canned}
    bench = Bench(
        snapshot=PLAIN,
        open_model=lambda spec, _: MockModel(spec, canned, accuracy=1.0 if spec == BIG else 0.0),
        settings=Settings(mock=True),
    )
    artifact = only(bench.run([plan(suite)]))
    assert (artifact.original_pass, artifact.candidate_pass) == (4, 0)
    assert artifact.sandbox_level != "not_used"
