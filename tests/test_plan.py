"""Tasks and dollars of the next measurement, from flips and tokens made by hand; tasks needed as docs print them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.artifacts import CANDIDATE, ORIGINAL, measurement
from tjbench.compare.artifact import Artifact, Flag
from tjbench.errors import UsageError
from tjbench.plan import flip_rate_of, plan_of, task_cost_of, tell_plan
from tjbench.store.artifacts import write_artifact

# 100 tasks, of which 5 broke and 5 recovered: a tenth came out differently.
TENTH = measurement("p" * 5 + "f" * 5 + "p" * 90, "f" * 5 + "p" * 95)


def told(path: Path, **asked: object) -> str:
    stdout = io.StringIO()
    options = {"drop_pp": None, "suite": None, "as_json": False, **asked}
    assert tell_plan(path, stdout=stdout, **options) == 0  # type: ignore[arg-type]
    return stdout.getvalue()


@pytest.mark.parametrize(("drop_pp", "out", "found"), [(10, 77, 168), (5, 269, 498), (2, 1565, 2438)])
def test_tasks_at_a_flip_rate_of_a_tenth(drop_pp: float, out: int, found: int) -> None:
    plan = plan_of(TENTH, drop_pp)
    assert plan.flip_rate.value == pytest.approx(0.10)
    assert (plan.rule_out.tasks, plan.detect.tasks) == (out, found)
    assert not plan.rule_out.approximate


def test_the_artifacts_own_margin_is_what_is_asked_without_another() -> None:
    plan = plan_of(TENTH)
    assert (plan.drop_pp, plan.rule_out.tasks) == (10, 77)


def test_many_tasks_are_counted_by_the_planning_formula_and_marked() -> None:
    # f (1.645 + 0.842)^2 / M^2 = 0.10 * 6.183 / 0.01^2
    need = plan_of(TENTH, 1).rule_out
    assert need.approximate
    assert need.tasks == pytest.approx(6183, abs=2)


@pytest.mark.parametrize(
    ("original", "candidate", "flip_rate", "floored"),
    [
        ("p" * 100, "p" * 100, 1 - 0.05 ** (1 / 100), True),  # Clopper-Pearson limit of 0 in 100: 2.95 %
        ("p" * 50, "p" * 50, 0.05, True),  # 5.8 % is possible, so the usual 5 % is taken
        ("p" * 50, "f" * 2 + "p" * 48, 0.05, True),
        ("p" * 50, "f" * 3 + "p" * 47, 0.06, False),  # more than is usual has been seen
        ("p" * 200, "f" * 6 + "p" * 194, 0.03, False),
        ("p" * 5, "f" * 5, 1.0, False),
    ],
)
def test_few_flips_are_not_taken_for_none(original: str, candidate: str, flip_rate: float, floored: bool) -> None:
    found = flip_rate_of(measurement(original, candidate))
    assert found.value == pytest.approx(flip_rate, abs=1e-6)
    assert found.floored is floored


def test_a_drop_leaves_room_for_no_more_flips_than_tasks() -> None:
    plan = plan_of(measurement("p" * 12, "f" * 12), 10)
    assert (plan.flip_rate.value, plan.rule_out.tasks > 500) == (1.0, True)


def test_unscored_tasks_do_not_count() -> None:
    found = flip_rate_of(measurement("p" * 20 + "u" * 20, "f" * 8 + "p" * 32))
    assert (found.broke, found.n_scored, found.value) == (8, 20, 0.4)


def test_with_several_samples_the_flips_are_those_of_one() -> None:
    # 2 of 4 against 1 of 4 samples: one sample of each breaks in 1/2 * 3/4 and recovers in 1/4 * 1/2 of the draws
    found = flip_rate_of(measurement("2" * 40, "1" * 40, samples=4))
    assert (found.broke, found.recovered) == (40 * 3 / 8, 40 * 1 / 8)
    assert found.value == 0.5


def test_dollars_a_task_are_tokens_at_the_artifacts_rates() -> None:
    # 100 tokens in and 50 out at 10 USD per million; 100 in and 100 out at 2
    cost = task_cost_of(TENTH)
    assert cost is not None
    assert (cost.original_usd, cost.candidate_usd) == pytest.approx((150 * 10e-6, 200 * 2e-6))
    plan = plan_of(TENTH, 5)
    assert plan.detect.total_usd == pytest.approx(498 * 0.0019)
    assert plan.rule_out.candidate_usd == pytest.approx(269 * 0.0004)


def test_a_sample_costs_what_one_sample_took() -> None:
    one, four = task_cost_of(measurement("pp", "pp")), task_cost_of(measurement("44", "44", samples=4))
    assert one == four


def test_a_failed_call_does_not_make_a_task_cheaper() -> None:
    tasks = list(TENTH.tasks)
    silent = replace(tasks[0].original, unscored=1, passes=0, usage=replace(tasks[0].original.usage, input=0, output=0))
    tasks[0] = tasks[0].model_copy(update={"original": silent})
    assert task_cost_of(TENTH.model_copy(update={"tasks": tuple(tasks)})) == task_cost_of(TENTH)


def stating(artifact: Artifact, dollars: float | None) -> Artifact:
    tasks = tuple(
        task.model_copy(
            update={
                "original": replace(task.original, stated_cost_usd=dollars),
                "candidate": replace(task.candidate, stated_cost_usd=dollars),
            }
        )
        for task in artifact.tasks
    )
    rates = {model: replace(rates, source="unknown") for model, rates in artifact.rates.items()}
    return artifact.model_copy(update={"tasks": tasks, "rates": rates})


def test_stated_dollars_are_taken_as_stated() -> None:
    plan = plan_of(stating(TENTH, 0.25), 10)
    assert plan.detect.total_usd == pytest.approx(168 * 0.5)
    assert "dollars are as the tool that measured stated them" in plan.notes


def test_no_dollars_are_made_up() -> None:
    unknown = stating(TENTH, None).model_copy(update={"original_cost_usd": 0.0, "candidate_cost_usd": 0.0})
    plan = plan_of(unknown)
    assert (plan.task_cost, plan.detect.total_usd) == (None, None)
    assert any(note.startswith("no dollars: it records no tokens with a price") for note in plan.notes)


def test_what_makes_a_plan_doubtful_is_said() -> None:
    guessed = measurement("p" * 30, "p" * 30, source="default", flags=(Flag.DEFAULT_RATES,), judge="openai:gpt-4o")
    assert [note.partition(":")[0] for note in plan_of(guessed).notes] == [
        "TokenJam knows no price of a model here",
        "calls of the judge openai",
    ]
    assert plan_of(measurement("p" * 30, "p" * 30, flags=(Flag.MOCK,))).notes[0].startswith("a mock run")


def test_nothing_scored_plans_nothing() -> None:
    with pytest.raises(UsageError, match="nothing can be planned"):
        plan_of(measurement("uu", "pp"))


def test_a_directory_makes_a_plan_a_row_from_its_newest_complete_artifact(tmp_path: Path) -> None:
    for artifact in (
        measurement("p" * 50, "f" * 5 + "p" * 45, version="0.6.0"),
        TENTH,
        measurement("p" * 30, "p" * 30, suite="gsm8k"),
    ):
        write_artifact(artifact, tmp_path)
    (tmp_path / "tjbench_bad.json").write_text("{")
    document = json.loads(told(tmp_path, as_json=True, drop_pp=5.0))
    assert [(p["suite"], p["flip_rate"]["n_scored"], p["detect"]["tasks"]) for p in document["plans"]] == [
        ("gsm8k", 30, 337),
        ("humaneval", 100, 498),
    ]
    assert list(document["skipped"]) == ["tjbench_bad.json"]
    only = json.loads(told(tmp_path, as_json=True, suite="gsm8k"))
    assert [plan["suite"] for plan in only["plans"]] == ["gsm8k"]
    with pytest.raises(UsageError, match="holds no artifact of suite gpqa") as caught:
        told(tmp_path, suite="gpqa")
    assert caught.value.why == "it holds gsm8k, humaneval"


def test_people_read_the_same(tmp_path: Path) -> None:
    path = write_artifact(TENTH, tmp_path)
    assert told(path, drop_pp=5).splitlines() == [
        f"humaneval: {ORIGINAL} → {CANDIDATE}",
        "  flip rate 10.0 %: 5 broke, 5 recovered of 100 scored tasks",
        "  a task costs $0.0019: $0.0015 on the original, $0.0004 on the candidate",
        "  to rule out a drop of 5 pp when nothing changed: 269 tasks, $0.5111",
        "  to detect a true drop of 5 pp: 498 tasks, $0.9462",
        "  each 80 % of the time; the suite has 100 tasks",
    ]
