"""Rows that stop early: what is asked, what is kept, and that timing decides nothing."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.artifacts import trial
from tests.fakes.model import FakeModel, response
from tests.fakes.provider import FakeProvider
from tests.fakes.sums import add, adding, sums, sums_jsonl
from tests.fakes.terminal import Terminal, open_terminal
from tests.fakes.tokenjam import BIG, PRICES, SMALL, snapshot
from tjbench.bench import Bench, BenchResult
from tjbench.compare.artifact import RECOMMENDED, Artifact
from tjbench.compare.derived import contradictions
from tjbench.compare.early_stop import place
from tjbench.compare.pair import Pair, Rule
from tjbench.config import ModelSpec
from tjbench.early_stop import FollowedRow, FollowedTask, Stopper
from tjbench.models.model import Model, Request, Response, Sampling
from tjbench.row_plan import RowPlan, Settings
from tjbench.store.artifacts import load_path
from tjbench.suites.task import Suite

AFAR, OTHER = ModelSpec("anthropic", "afar"), ModelSpec("openai", "other")
FOUND = snapshot(prices={**PRICES, AFAR: (2.0, 6.0), OTHER: (2.0, 6.0)})
SIDES = {"b": "pf", "c": "fp", "s": "pp", "u": "pu"}
Key = tuple[int, int]


# Rows and their tasks


def row(marks: str, needed: float | None = 40.0) -> FollowedRow[Key, str]:
    """A task a mark (see ``SIDES``), each waiting for an attempt of either model."""

    def task(number: int) -> FollowedTask[Key, str]:
        keys = ((number, 0), (number, 1))

        def pair(results: Mapping[Key, str]) -> Pair:
            before, after = (trial(results[key]) for key in keys)
            return Pair(task_id=str(number), before=before, after=after)

        return FollowedTask(task_id=str(number), keys=keys, pair=pair)

    return FollowedRow([task(number) for number in range(len(marks))], Rule(), needed)


def settle(followed: FollowedRow[Key, str], marks: str, order: Sequence[Key]) -> None:
    results: dict[Key, str] = {}
    for key in order:
        results[key] = SIDES[marks[key[0]]][key[1]]
        followed.settle(key, results)


def in_order(marks: str) -> list[Key]:
    return [(number, side) for number in range(len(marks)) for side in (0, 1)]


@given(st.text(alphabet="bbbscu", min_size=1, max_size=60), st.integers())
def test_what_a_row_rests_on_does_not_depend_on_the_order_of_its_answers(marks: str, seed: int) -> None:
    calm, shuffled = row(marks), row(marks)
    settle(calm, marks, in_order(marks))
    settle(shuffled, marks, Random(seed).sample(in_order(marks), 2 * len(marks)))
    assert (shuffled.stopped, shuffled.used) == (calm.stopped, calm.used)


def test_failures_that_arrive_early_count_only_when_the_tasks_before_them_are_there() -> None:
    marks = "s" * 12 + "b" * 8 + "s" * 10
    followed = row(marks)
    settle(followed, marks, [key for key in in_order(marks) if key[0] > 0])
    assert not followed.stopped
    whole = row(marks)
    settle(whole, marks, [*(key for key in in_order(marks) if key[0] > 0), (0, 0), (0, 1)])
    assert whole.stopped
    assert whole.used == tuple(map(str, range(20)))


def test_without_evidence_to_reach_a_row_never_stops() -> None:
    marks = "b" * 30
    followed = row(marks, None)
    settle(followed, marks, in_order(marks))
    assert not followed.stopped
    assert len(followed.used) == 30


def test_an_attempt_is_wanted_as_long_as_one_of_its_rows_goes_on() -> None:
    marks = "s" * 10 + "b" * 10
    stops, goes_on = row(marks), row(marks, None)
    shared, alone = Stopper([stops, goes_on], 100), Stopper([row(marks)], 100)
    for key in in_order(marks):
        if key != (19, 1):
            shared.settled(key, SIDES[marks[key[0]]][key[1]])
            alone.settled(key, SIDES[marks[key[0]]][key[1]])
    assert stops.stopped
    assert shared.wants((19, 1))
    assert not alone.wants((19, 1))


def test_who_waits_for_a_turn_is_let_go_when_the_run_is_left() -> None:
    stopper = Stopper([row("s" * 10)], ahead=1)
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(stopper.wants((5, 0))))
    waiting.start()
    with pytest.raises(RuntimeError), stopper.closed_by_errors():
        raise RuntimeError
    waiting.join(60)
    assert answers == [False]


# Runs


def plan(suite: Suite, *, original: ModelSpec = BIG, candidate: ModelSpec = SMALL, **more: Any) -> RowPlan:
    return RowPlan(
        suite=suite,
        original=original,
        candidate=candidate,
        slot=RECOMMENDED,
        recommended_by="a test",
        sampling=Sampling(),
        samples=1,
        rule=Rule(),
        **more,
    )


class Shop:
    """Models that add; those of ``bad`` get one of two sums wrong. ``delay`` is by request, in seconds."""

    def __init__(self, *bad: ModelSpec, delay: Callable[[Request], float] = lambda _: 0.0) -> None:
        self.bad = bad
        self.delay = delay
        self.opened: list[FakeModel] = []

    def open(self, spec: ModelSpec, _: Suite) -> Model:
        def answer(request: Request) -> Response:
            time.sleep(self.delay(request))
            odd = spec in self.bad and int(request.task_id.partition("-")[2]) % 2
            return response("#### -1" if odd else add(request.messages[-1]["content"]))

        self.opened.append(FakeModel(answer, spec))
        return self.opened[-1]

    def calls(self) -> Counter[ModelSpec]:
        return Counter({model.spec: len(model.asked) for model in self.opened})

    def run(self, *plans: RowPlan, concurrency: int = 4, seed: int | None = None) -> BenchResult:
        settings = Settings(concurrency=concurrency, seed=seed)
        return Bench(snapshot=FOUND, open_model=self.open, settings=settings).run(plans)


def artifacts(result: BenchResult) -> list[Artifact]:
    return [measured.artifact for measured in result.measured]


def expected(suite: Suite, seed: int | None = None) -> list[str]:
    """The first tasks in seeded order with eight odd sums, and ten in all at least, in the suite's order."""
    ordered = sorted((task.id for task in suite.tasks), key=lambda i: place(seed, suite.name, i))
    odd = [number for number, i in enumerate(ordered) if int(i.partition("-")[2]) % 2]
    used = set(ordered[: max(10, odd[7] + 1)])
    return [task.id for task in suite.tasks if task.id in used]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_clear_regression_ends_its_row_at_the_tasks_that_suffice(seed: int | None) -> None:
    shop, suite = Shop(SMALL), sums(200)
    (artifact,) = artifacts(shop.run(plan(suite, stop_at=40.0), seed=seed))
    wanted = expected(suite, seed)
    assert [task.task_id for task in artifact.tasks] == wanted
    assert artifact.early_stop is not None
    assert (artifact.early_stop.n_used, artifact.early_stop.n_planned) == (len(wanted), 200)
    assert artifact.early_stop.e_value == pytest.approx(511 / 9)
    assert artifact.stopped
    assert contradictions(artifact) == ()
    assert shop.calls().total() < 200


@pytest.mark.parametrize("seed", range(3))
def test_slow_answers_change_nothing_of_what_is_kept(seed: int) -> None:
    suite = sums(60)
    draw = Random(seed)
    delays = {task.id: draw.choice([0, 0, 0.003, 0.01]) for task in suite.tasks}
    slow = Shop(SMALL, delay=lambda request: delays[request.task_id])
    (artifact,) = artifacts(slow.run(plan(suite, stop_at=40.0), concurrency=16))
    assert [task.task_id for task in artifact.tasks] == expected(suite)


def test_the_faster_model_does_not_run_ahead_of_the_slower_one() -> None:
    suite = sums(200)
    shop = Shop(SMALL, delay=lambda request: 0.0)
    (artifact,) = artifacts(shop.run(plan(suite, original=AFAR, stop_at=40.0), concurrency=1))
    # Two tasks ahead of those settled: one in flight at each model, and one that waits for its score.
    assert shop.calls()[AFAR] <= len(artifact.tasks) + 3
    assert shop.calls()[SMALL] <= len(artifact.tasks) + 3


@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_rows_that_share_an_original_stop_by_themselves(concurrency: int) -> None:
    suite = sums(100)
    shop = Shop(SMALL)
    rows = (plan(suite, stop_at=80.0), plan(suite, candidate=OTHER, stop_at=80.0), plan(sums(70), candidate=AFAR))
    bad, good, whole = artifacts(shop.run(*rows, concurrency=concurrency))
    assert bad.stopped
    assert not good.stopped
    assert (good.n_tasks, whole.n_tasks) == (100, 70)
    assert whole.early_stop is None
    assert set(Counter((m.spec, asked.task_id) for m in shop.opened for asked in m.asked).values()) == {1}
    assert (shop.calls()[BIG], shop.calls()[OTHER]) == (100, 100)


def test_a_good_candidate_is_measured_as_without() -> None:
    suite = sums(40)
    (plain,) = artifacts(Shop().run(plan(suite)))
    (could,) = artifacts(Shop().run(plan(suite, stop_at=40.0)))
    assert could.early_stop is not None
    assert (could.early_stop.n_used, could.early_stop.n_planned, could.early_stop.e_value) == (40, 40, 1)
    assert could.model_copy(update={"early_stop": None, "created_at": plain.created_at}) == plain


def test_without_it_the_tasks_are_asked_in_their_own_order() -> None:
    suite = sums(30)
    plain, seeded = Shop(), Shop()
    plain.run(plan(suite), concurrency=1)
    seeded.run(plan(suite, stop_at=40.0), concurrency=1)
    own = [task.id for task in suite.tasks]
    order = sorted(own, key=lambda i: place(None, suite.name, i))
    assert [[asked.task_id for asked in model.asked] for model in plain.opened] == [own, own]
    assert [[asked.task_id for asked in model.asked] for model in seeded.opened] == [order, order]


def test_a_scorer_that_fails_ends_the_run_with_its_error() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the watcher fell")

    shop = Shop(SMALL)
    bench = Bench(snapshot=FOUND, open_model=shop.open, settings=Settings(concurrency=2), watch=fail)
    with pytest.raises(RuntimeError, match="the watcher fell"):
        bench.run([plan(sums(100), stop_at=40.0)])


# Commands


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Terminal, FakeProvider]]:
    """A terminal with a suite of ninety sums, of which the small model gets every other one wrong."""
    with (
        FakeProvider(adding({"small": range(1, 200, 2)})) as provider,
        open_terminal(tmp_path, monkeypatch, capsys) as opened,
    ):
        (opened.root / "sums.jsonl").write_text(sums_jsonl(90))
        (opened.root / "nothing").mkdir()
        opened.environ["OPENAI_BASE_URL"] = provider.openai_url
        yield opened, provider


RUN = ("run", "--benchmark", "sums.jsonl", "--original", "openai:big", "--candidate")


def test_a_run_says_that_it_stopped_and_what_that_is_worth(terminal: tuple[Terminal, FakeProvider]) -> None:
    desk, provider = terminal
    said = desk.tjb(*RUN, "openai:small", "--early-stop", "--concurrency", "2")
    assert said.code == 0
    ((name, artifact),) = load_path(desk.root / "results").artifacts.items()
    used = len(expected(sums(90, name=artifact.suite.name)))
    assert artifact.n_tasks == used < 40
    assert f"stopped early after {used} of 90 tasks (E = 56.8)" in said.out
    assert "The estimate is biased away from zero" in said.out
    assert not [words for words in ("95 % CI", "p =", "score interval", "Detectable") if words in said.out]
    assert provider.counts()["by_model"]["small"] < 60
    path = str(desk.root / "results" / name)
    assert desk.tjb("report", path, "--verify").code == 0
    document = json.loads((desk.root / "results" / name).read_text())
    document["early_stop"]["e_value"] += 1
    (desk.root / "results" / name).write_text(json.dumps(document))
    said = desk.tjb("report", path, "--verify")
    assert said.code == 1
    assert "early_stop.e_value" in said.out + said.err


def test_a_run_of_a_good_candidate_asks_everything(terminal: tuple[Terminal, FakeProvider]) -> None:
    desk, provider = terminal
    assert desk.tjb(*RUN, "openai:big", "--early-stop").code == 0
    (artifact,) = load_path(desk.root / "results").artifacts.values()
    assert artifact.n_tasks == 90
    assert artifact.early_stop is not None
    assert not artifact.stopped
    assert provider.counts()["by_model"] == {"big": 90}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--samples", "2"), "it has several samples a task, and their test no such evidence"),
        (("--shard", "1/2"), "a shard is a part of the row"),
    ],
)
def test_what_cannot_stop_says_so(terminal: tuple[Terminal, FakeProvider], words: Sequence[str], why: str) -> None:
    desk, _ = terminal
    said = desk.tjb(*RUN, "openai:small", "--early-stop", "--limit", "60", *words)
    assert f"warning: no early stop for sums, openai:big → openai:small: {why}" in said.err.replace(
        "sums.jsonl", "sums"
    )
    (path,) = (desk.root / "results").glob("tjbench_*.json")
    assert json.loads(path.read_text())["early_stop"] is None


CONFIG = """\
[[proof]]
suite = "samples"
original = "openai:big"
candidate = "openai:small"
[gate]
early_stop = true
[mock]
default = 1.0
accuracy = { "openai:small" = 0.4 }
"""


def test_the_gate_fails_on_a_row_that_stopped(terminal: tuple[Terminal, FakeProvider]) -> None:
    desk, _ = terminal
    (desk.root / "tjbench.toml").write_text(CONFIG)
    said = desk.tjb("ci", "--mock", "--baseline", "path:nothing", "--json")
    document = json.loads(said.out)
    (shown,) = document["rows"]
    assert said.code == document["exit_code"] == 1
    assert (shown["verdict"], shown["vs_baseline"]["status"]) == ("significant_regression", "no_baseline")
    assert shown["early_stop"]["n_used"] == shown["n_tasks"] < shown["early_stop"]["n_planned"]
    assert shown["early_stop"]["e_value"] >= shown["early_stop"]["e_needed"] == 40
    assert shown["delta_ci_pp"] is None
    (step,) = json.loads(desk.tjb("matrix", "--json").out)["steps"]
    assert step["early_stop"] == shown["early_stop"]
    off = json.loads(desk.tjb("ci", "--mock", "--baseline", "path:nothing", "--no-early-stop", "--json").out)
    assert off["rows"][0]["n_tasks"] == shown["early_stop"]["n_planned"]
    assert off["rows"][0]["early_stop"] is None


def test_what_is_recorded_or_stood_so_before_is_measured_whole(terminal: tuple[Terminal, FakeProvider]) -> None:
    desk, _ = terminal
    (desk.root / "tjbench.toml").write_text(CONFIG)
    recorded = desk.tjb("ci", "--mock", "--baseline", "none", "--out", "before", "--json")
    planned = json.loads(recorded.out)["rows"][0]["n_tasks"]
    assert "it is recorded, to be compared with" in recorded.err
    again = desk.tjb("ci", "--mock", "--baseline", "path:before", "--json")
    (shown,) = json.loads(again.out)["rows"]
    assert "its baseline's candidate is worse than the original too" in again.err
    assert (again.code, shown["n_tasks"], shown["early_stop"]) == (0, planned, None)
    assert shown["vs_baseline"]["status"] == "no_regression"
