"""A suite that a judge grades, measured whole: who is asked, what it costs, what is kept, who may name the judge."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model import FakeModel, response
from tests.fakes.provider import Ask, FakeProvider, Reply
from tests.fakes.tokenjam import BIG, PRICES, SMALL, make_tokenjam, snapshot
from tjbench.action_inputs import open_action, read_config
from tjbench.base_policy import judged_by_base
from tjbench.bench import Bench, BenchResult
from tjbench.compare.artifact import Artifact, Flag
from tjbench.config import Config, ModelSpec, config_of, parse_config
from tjbench.dry_run import estimate
from tjbench.errors import ExitCode, UsageError
from tjbench.models.model import Model, ModelError, Request, Response, Trouble
from tjbench.pricing import Usage
from tjbench.row_plan import RowPlan, Settings
from tjbench.rows import judge_of, models_of, plan_rows, resolve_mock
from tjbench.run import RunRequest, run_once
from tjbench.runner.deadline import Deadline
from tjbench.scoring.judge import JUDGE_SAMPLING, MOST_CALLS
from tjbench.scoring.score import Cause
from tjbench.settings import overridden
from tjbench.store.artifacts import load_path
from tjbench.suites.task import Canned, JudgedCheck, Message, Suite, Task
from tjbench.workplace import RunOptions, Workplace

GRADER = ModelSpec("openai", "grader")
ALL = {**PRICES, GRADER: (100.0, 200.0)}
FOUND = snapshot(prices=ALL)
KEYED = {"OPENAI_API_KEY": "k"}


def poems(count: int, *, threshold: float | None = None, canned: bool = True) -> Suite:
    """``count`` tasks ``poem-0``, …, each of which a judge decides."""
    tasks = tuple(
        Task(
            id=f"poem-{n}",
            messages=(Message(role="user", content=f"Write poem {n}."),),
            check=JudgedCheck(criteria=f"It is poem {n}.", threshold=threshold),
            canned=Canned(right=f"poem {n}", wrong="prose") if canned else None,
        )
        for n in range(count)
    )
    return Suite(name="poems", tasks=tasks, packaged=False, n_available=count)


def configured(**changes: Any) -> Config:
    tables = {"proof": [{"suite": "poems", "original": str(BIG)}], "judge": {"model": str(GRADER)}, **changes}
    return config_of(tables, "--")


def plans(suite: Suite, config: Config | None = None) -> tuple[RowPlan, ...]:
    return plan_rows(config or configured(), FOUND, lambda _name, _data: suite).plans


def writing(request: Request) -> Response:
    return response(request.messages[-1]["content"].removeprefix("Write ").removesuffix("."))


def grading(request: Request) -> Response:
    shown = json.loads(request.messages[-1]["content"])
    right = shown["criteria"] == f"It is {shown['answer']}."
    return response(json.dumps({"score": 9 if right else 1, "reason": "so"}), usage=Usage(input=1000, output=50))


def run(count: int = 3, *, judge: FakeModel | None = None, settings: Settings | None = None) -> BenchResult:
    def open_model(spec: ModelSpec, _suite: Suite) -> Model:
        if spec == SMALL:
            return FakeModel(lambda asked: response("prose") if asked.task_id == "poem-0" else writing(asked), spec)
        return FakeModel(writing, spec)

    bench = Bench(
        snapshot=FOUND,
        open_model=open_model,
        settings=settings or Settings(),
        judge=judge or FakeModel(grading, GRADER),
    )
    return bench.run(plans(poems(count)))


def only(result: BenchResult) -> Artifact:
    (measured,) = result.measured
    return measured.artifact


# --- one measurement


def test_answers_pass_as_the_judge_grades_them_and_the_artifact_names_it() -> None:
    artifact = only(run())
    assert (artifact.original_pass, artifact.candidate_pass) == (3, 2)
    assert artifact.judge == "openai:grader"
    assert Flag.JUDGE_SCORED in artifact.flags
    failed = artifact.tasks[0].candidate
    assert (failed.cause, failed.detail) == (Cause.WRONG_ANSWER, "judged 1 of 10, 5 needed: so")


def test_what_the_judge_uses_is_spent_and_is_no_cost_of_the_models() -> None:
    judge = FakeModel(grading, GRADER)
    result = run(judge=judge)
    # the candidate gives two answers that the original gives too, and one of its own: four are graded
    assert len(judge.asked) == 4
    graded = 4 * (1000 * 100 + 50 * 200) / 1e6
    answered = 3 * (10 * 10 + 5 * 30) / 1e6 + 3 * (10 * 1 + 5 * 3) / 1e6
    assert result.spending.spent_usd == pytest.approx(graded + answered)
    assert only(result).original_cost_usd == pytest.approx(3 * (10 * 10 + 5 * 30) / 1e6)
    assert judge.closed


def test_the_cap_holds_for_the_judge_too() -> None:
    judge = FakeModel(grading, GRADER)
    result = run(judge=judge, settings=Settings(max_cost_usd=0.4, concurrency=1))
    assert result.spending.spent_usd <= 0.4
    assert judge.asked == []  # one call may cost 2,048 output tokens at $200 a million: $0.41
    trials = [trial for task in only(result).tasks for trial in (task.original, task.candidate)]
    assert {trial.cause for trial in trials} == {Cause.BUDGET}
    assert only(result).n_scored == 0


def test_a_judge_that_is_refused_ends_the_run_and_no_answer_is_wrong() -> None:
    def refuse(_: Request) -> Response:
        raise ModelError(Trouble.AUTHENTICATION, "bad key")

    judge = FakeModel(refuse, GRADER)
    result = run(judge=judge, settings=Settings(concurrency=1))
    artifact = only(result)
    assert len(judge.asked) == 1
    assert (artifact.n_scored, artifact.n_unscored, artifact.incomplete) == (0, 3, True)
    causes = {trial.cause for task in artifact.tasks for trial in (task.original, task.candidate)}
    assert Cause.JUDGE_ERROR in causes <= {Cause.JUDGE_ERROR, Cause.PROVIDER_ERROR}  # some may not be asked any more
    assert all("bad key" in problem for problem in result.problems)
    assert result.misconfigured


def test_a_judge_that_hangs_at_the_deadline_is_not_waited_for() -> None:
    release = threading.Event()

    def hang(request: Request) -> Response:
        if "poem 0" not in request.messages[-1]["content"]:
            release.wait(60)
        return grading(request)

    settings = Settings(deadline=Deadline(minutes=0.5 / 60, grace_s=0.1))
    begun = time.monotonic()
    try:
        result = run(judge=FakeModel(hang, GRADER), settings=settings)
        assert time.monotonic() - begun < 30
    finally:
        release.set()
    unjudged = {task.task_id: task.original.cause for task in only(result).tasks if task.original.unscored}
    assert set(unjudged) >= {"poem-1", "poem-2"}
    assert set(unjudged.values()) == {Cause.DEADLINE}


def test_a_judge_is_asked_by_as_many_threads_as_calls_may_be_in_flight() -> None:
    together = threading.Barrier(6)

    def wait(request: Request) -> Response:
        together.wait(10)
        return grading(request)

    bench = Bench(
        snapshot=FOUND,
        open_model=lambda spec, _: FakeModel(lambda asked: response(f"{spec} on {asked.task_id}"), spec),
        settings=Settings(concurrency=6),
        judge=FakeModel(wait, GRADER),
    )
    # two models and three poems: six answers, none of which is graded before all are
    assert only(bench.run(plans(poems(3)))).n_scored == 3


def test_a_suite_that_no_judge_decides_names_none() -> None:
    from tests.fakes.sums import add, sums

    bench = Bench(
        snapshot=FOUND,
        open_model=lambda spec, _: FakeModel(lambda asked: response(add(asked.messages[-1]["content"])), spec),
        settings=Settings(),
    )
    artifact = only(bench.run(plans(sums(2))))
    assert artifact.judge is None
    assert Flag.JUDGE_SCORED not in artifact.flags


# --- rows


def test_the_configurations_threshold_becomes_part_of_the_check() -> None:
    strict = configured(judge={"model": str(GRADER), "threshold": 0.9})
    (plan,) = plans(poems(1), strict)
    (written,) = plans(poems(1, threshold=0.9))
    (default,) = plans(poems(1))
    (own,) = plans(poems(1, threshold=0.7), strict)
    assert plan.suite.tasks[0].check_hash == written.suite.tasks[0].check_hash
    assert plan.suite.checks_revision != default.suite.checks_revision
    assert own.suite.tasks[0].check == JudgedCheck(criteria="It is poem 0.", threshold=0.7)


def test_a_judged_suite_without_a_judge_is_refused_with_the_ways_to_name_one() -> None:
    nobody = configured(judge={})
    with pytest.raises(UsageError) as caught:
        judge_of(nobody, plans(poems(1), nobody))
    for words in ("poems", "--judge", "input judge", "[judge]"):
        assert words in str(caught.value)
    assert judge_of(configured(), plans(poems(1))) == GRADER


def test_the_judges_key_is_needed_like_any_other_and_its_price_is_asked_for() -> None:
    foreign = ModelSpec("anthropic", "grader")
    rows = plans(poems(1))
    assert resolve_mock("auto", rows, {}, KEYED, silently=True) is False
    with pytest.raises(UsageError, match="missing key: ANTHROPIC_API_KEY"):
        resolve_mock("auto", rows, {}, KEYED, silently=True, judge=foreign)
    assert resolve_mock("auto", rows, {}, {}, silently=True, judge=foreign) is True
    assert models_of(configured()) == [BIG, GRADER]


def test_the_estimate_holds_the_judges_calls() -> None:
    found = {e.spec: e for e in estimate(plans(poems(3)), FOUND, GRADER)}
    assert found[GRADER].calls == 2 * 3 * MOST_CALLS
    assert found[GRADER].output_tokens == 2 * 3 * MOST_CALLS * JUDGE_SAMPLING.max_tokens
    assert found[GRADER].input_tokens > 2 * 3 * MOST_CALLS * 2048  # an answer as long as allowed is shown
    assert GRADER not in {e.spec for e in estimate(plans(poems(3)), FOUND)}


# --- who names it


def test_a_flag_or_an_input_names_the_judge_over_the_file() -> None:
    file = parse_config('[judge]\nmodel = "openai:filed"\nthreshold = 0.8\n', "tjbench.toml")
    named = overridden(file, {"judge": "openai:flagged"}, "--")
    assert (named.judge.model, named.judge.threshold) == ("openai:flagged", 0.8)
    assert overridden(file, {}, "--").judge == file.judge
    with pytest.raises(UsageError, match=r"--judge: .*is not a model"):
        overridden(file, {"judge": "grader"}, "--")


def test_on_a_pull_request_the_judge_is_the_base_commits() -> None:
    base = parse_config('[judge]\nmodel = "openai:strict"\nthreshold = 0.9\n', "base")
    head = parse_config('[judge]\nmodel = "openai:kind"\nthreshold = 0.1\n', "head")
    config, changed = judged_by_base(head, base)
    assert config.judge == base.judge
    assert changed == ["[judge]"]
    assert judged_by_base(parse_config("", "head"), base)[0].judge == base.judge


def test_the_actions_input_names_the_judge(tmp_path: Path) -> None:
    environ = {"INPUT_JUDGE": "openai:named", "GITHUB_EVENT_NAME": "schedule"}
    config, _ = read_config(open_action(environ, tmp_path, io.StringIO()))
    assert config.judge.model == "openai:named"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[judge]\nmodle = "a:b"\n', r"tjbench.toml:2: unknown key judge.modle.*did you mean 'model'"),
        ('[judge]\nmodel = "grader"\n', "tjbench.toml:2: judge.model: 'grader' is not a model"),
        ("[judge]\nthreshold = 0\n", "tjbench.toml:2: judge.threshold"),
        ("[judge]\nthreshold = 1.5\n", "tjbench.toml:2: judge.threshold"),
        ('[judge]\nmetric = "vibes"\n', "tjbench.toml:2: judge.metric"),
    ],
)
def test_a_mistake_in_the_table_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_config(text, "tjbench.toml")


# --- the command, over the real client


POEMS = """\
- suite: {description: Poems}
- id: poem-0
  prompt: Write poem 0.
  check: {judged: {criteria: It is poem 0., reference: poem 0}}
  canned: {right: poem 0, wrong: prose}
- id: poem-1
  prompt: Write poem 1.
  check: {judged: {criteria: It is poem 1., threshold: 1.0}}
  canned: {right: poem 1, wrong: prose}
"""


@dataclass(kw_only=True)
class Desk:
    """A working directory with a judged suite, and models on loopback that keep what they are asked."""

    root: Path
    environ: dict[str, str]
    provider: FakeProvider
    err: io.StringIO = field(default_factory=io.StringIO)

    def run(self, **judge: object) -> ExitCode:
        proof = {"suite": "poems.yaml", "original": str(BIG), "candidate": str(SMALL)}
        request = RunRequest(
            config=config_of({"proof": [proof], "judge": judge}, "--"),
            options=RunOptions(out=self.root / "results", silent_mock=True),
        )
        place = Workplace(root=self.root, environ=self.environ)
        return run_once(request, place, stdout=io.StringIO(), stderr=self.err)

    def artifact(self) -> Artifact:
        (artifact,) = load_path(self.root / "results").artifacts.values()
        return artifact

    def asked(self, model: str) -> int:
        return sum(ask.model == model for ask in self.provider.asks)


def answering(ask: Ask) -> Reply:
    if ask.model != "grader":
        return Reply(text=ask.user.removeprefix("Write ").removesuffix("."))
    shown = json.loads(ask.user)
    right = shown["criteria"] == f"It is {shown['answer']}."
    return Reply(text=json.dumps({"score": 9 if right else 0, "reason": f"I read: {shown['answer']}"}))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "poems.yaml").write_text(POEMS)
    with FakeProvider(answering) as provider:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "OPENAI_BASE_URL": provider.openai_url,
            "TJBENCH_TOKENJAM_PYTHON": str(make_tokenjam(tmp_path / "tokenjam", prices=ALL)),
        }
        yield Desk(root=tmp_path, environ=environ, provider=provider)


def test_a_live_run_asks_the_judge_and_a_second_one_nobody(desk: Desk) -> None:
    assert desk.run(model=str(GRADER)) is ExitCode.PASSED
    artifact = desk.artifact()
    # 9 of 10 passes at the default of one half, and fails where the task asks for full marks
    assert [task.original.passes for task in artifact.tasks] == [1, 0]
    assert artifact.judge == "openai:grader"
    asked = {model: desk.asked(model) for model in ("big", "small", "grader")}
    assert asked == {"big": 2, "small": 2, "grader": 2}
    assert desk.run(model=str(GRADER)) is ExitCode.PASSED
    assert len(desk.provider.asks) == sum(asked.values())


def test_without_a_judge_nobody_is_asked_anything(desk: Desk) -> None:
    with pytest.raises(UsageError, match=r"the suite poems\.yaml needs a judge"):
        desk.run()
    assert desk.provider.asks == []


def test_a_scripted_run_has_a_scripted_judge(desk: Desk) -> None:
    del desk.environ["OPENAI_BASE_URL"]
    assert desk.run() is ExitCode.PASSED
    artifact = desk.artifact()
    assert (artifact.judge, artifact.mock, artifact.n_scored) == ("mock:judge", True, 2)
    assert set(artifact.flags) >= {Flag.MOCK, Flag.JUDGE_SCORED}
    assert desk.provider.asks == []
