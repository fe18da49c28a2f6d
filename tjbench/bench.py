"""The composition root: ask the models, score what they say, price it, compare, and state it as artifacts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any

from tjbench.compare.early_stop import place
from tjbench.compare.pair import Pair
from tjbench.config import ModelSpec
from tjbench.early_stop import FollowedRow, FollowedTask, Stopper
from tjbench.measured import NO_SANDBOX, Measured, Outcomes, Recorder, Scored
from tjbench.models.model import Model, Sampling, Trouble
from tjbench.pricing import Usage, cost_usd
from tjbench.report.units import dollars
from tjbench.reuse import Stored
from tjbench.row_plan import JobKey, ModelOpener, RowPlan, Settings
from tjbench.runner.attempt import Attempt
from tjbench.runner.budget import Budget
from tjbench.runner.course import Course
from tjbench.runner.daemons import LOOK_UP_S, Daemons, awaited
from tjbench.runner.deadline import Deadline
from tjbench.runner.patient import Throttles
from tjbench.runner.pool import Attempting, Job, Limits, run_attempts
from tjbench.runner.single import attempt_single
from tjbench.sandbox import Box, cores, open_box
from tjbench.scoring.judge import Judge
from tjbench.scoring.score import Cause, Score, failed, one_line
from tjbench.scoring.scorer import score_attempt
from tjbench.spending import Spending
from tjbench.suites.task import JudgedCheck, Suite, Task
from tjbench.tokenjam import Snapshot

USERS_TO_MEND = frozenset({Trouble.AUTHENTICATION, Trouble.NOT_FOUND})
GRACE_S = 1.0
"""How long an interrupt waits for verdicts and scores that are under way."""

Stopping = Stopper[JobKey, Scored]
NOT_ASKED = Attempt(task_id="", sample=0)
"""Stands where no attempt was made, for every row that would need it has stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What a run brought and spent; ``problems`` are sentences about calls that brought no answer. ``misconfigured``:
    a provider refused the key or does not know the model, which only the user can mend."""

    measured: tuple[Measured, ...]
    spending: Spending
    problems: tuple[str, ...]
    mock: bool
    misconfigured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorers:
    """What scoring needs beside the answer: the box for unit tests, the judge for judged tasks."""

    box: Box | None
    judge: Judge | None


Beginner = Callable[[Course], None]
Watcher = Callable[[ModelSpec, Attempt, Score], None]
SelfTest = Callable[[Sequence[Suite], Box], None]
"""Raises where answers to suites that execute code cannot be judged in the box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Measures rows. ``open_model`` gives a model for a suite; ``begin`` hears what is about to be asked, ``watch`` of
    every scored attempt; no live model is asked before ``self_test`` returns. ``judge`` grades judged tasks, under the
    same cap. ``stored`` outcomes stand in for calls."""

    snapshot: Snapshot
    open_model: ModelOpener
    settings: Settings
    begin: Beginner = field(default=lambda _course: None)
    watch: Watcher = field(default=lambda _spec, _attempt, _score: None)
    warn: Callable[[str], None] = field(default=lambda _text: None)
    self_test: SelfTest = field(default=lambda _suites, _box: None)
    judge: Model | None = None
    stored: Stored = field(default_factory=Stored)

    @property
    def _recorder(self) -> Recorder:
        judge = self.judge.spec if self.judge else None
        return Recorder(snapshot=self.snapshot, settings=self.settings, judge=judge, stored=self.stored)

    def run(self, plans: Sequence[RowPlan]) -> BenchResult:
        """Ask every needed (model, task, sample) once, however many rows share it, and build the artifacts."""
        with ExitStack() as stack:
            # Entered before the box, so that an interrupt closes the box first and waits for nothing that runs in it.
            beside = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="self-test"))
            box = self._box(plans, stack)
            tested = self._begin_self_test(plans, box, beside)
            jobs = self._jobs(plans)
            stopper = self._stopper(plans, jobs)
            limits = self._limits()
            judge = self._judge(limits, stack)
            for model in {id(job.model): job.model for job in jobs.values()}.values():
                stack.callback(getattr(model, "close", lambda: None))
            if tested:
                awaited(tested)
            self.begin(self._course(jobs, limits))
            scored = self._scored(jobs, limits, Scorers(box=box, judge=judge), stopper)
        finished = datetime.now(UTC).replace(microsecond=0)
        level = str(box.level) if box else NO_SANDBOX
        spending = self._spending(scored, limits.budget)
        plans = [_with_spent(plan, spending.spent_usd) for plan in plans]
        if stopper:
            plans = [_with_kept(plan, row.used) for plan, row in zip(plans, stopper.rows, strict=True)]
        return BenchResult(
            measured=tuple(self._recorder.measured(plan, scored, finished, level) for plan in plans),
            spending=spending,
            problems=_problems(scored, private=self.settings.private)
            + (judge.problems(private=self.settings.private) if judge else ())
            + _summaries(limits),
            mock=self.settings.mock,
            misconfigured=any(attempt.trouble in USERS_TO_MEND for attempt, _ in scored.values())
            or (judge is not None and judge.trouble in USERS_TO_MEND),
        )

    def _jobs(self, plans: Sequence[RowPlan]) -> dict[JobKey, Job]:
        """Both models of a task stand together, so that a run which ends early has pairs and no half of a bill. Where a
        row may stop, the tasks of all rows stand in their seeded order."""
        models: dict[tuple[ModelSpec, int], Model] = {}
        jobs: dict[JobKey, Job] = {}
        for plan in plans:
            scope = id(plan.suite) if self.settings.mock else 0
            for task, sample, spec in product(plan.suite.tasks, plan.draws, plan.asked):
                if self._recorder.reused(plan, spec, task):
                    continue
                if (spec, scope) not in models:
                    models[spec, scope] = self.open_model(spec, plan.suite)
                key = plan.key(spec, task, sample)
                jobs[key] = Job(task=task, model=models[spec, scope], sampling=plan.sampling, sample=sample)
        if _may_stop(plans):
            return dict(sorted(jobs.items(), key=lambda item: place(self.settings.seed, item[0][1], item[0][2])))
        return jobs

    def _stopper(self, plans: Sequence[RowPlan], jobs: Mapping[JobKey, Job]) -> Stopping | None:
        if not _may_stop(plans):
            return None
        return Stopper([self._followed(plan, jobs) for plan in plans], ahead=2 * self.settings.concurrency)

    def _followed(self, plan: RowPlan, jobs: Mapping[JobKey, Job]) -> FollowedRow[JobKey, Scored]:
        def pair(task: Task, scored: Outcomes) -> Pair:
            before, after = (self._recorder.trial(plan, spec, task, scored) for spec in (plan.original, plan.candidate))
            return Pair(task_id=task.id, before=before, after=after)

        def keys(task: Task) -> tuple[JobKey, ...]:
            own = (plan.key(spec, task, sample) for spec in dict.fromkeys(plan.asked) for sample in plan.draws)
            return tuple(key for key in own if key in jobs)

        ordered = sorted(plan.suite.tasks, key=lambda task: place(self.settings.seed, plan.suite.name, task.id))
        followed = [FollowedTask(task_id=task.id, keys=keys(task), pair=partial(pair, task)) for task in ordered]
        return FollowedRow(followed, plan.rule, plan.stop_at)

    def _box(self, plans: Sequence[RowPlan], stack: ExitStack) -> Box | None:
        coded = [plan.suite for plan in plans if plan.suite.executes_code]
        if not coded:
            return None
        trusted = self.settings.mock and all(suite.packaged for suite in coded)
        return stack.enter_context(
            open_box(workers=cores(), trusted=trusted, allow_unsandboxed=self.settings.allow_unsandboxed)
        )

    def _begin_self_test(self, plans: Sequence[RowPlan], box: Box | None, beside: Executor) -> Future[None] | None:
        """It runs beside the opening of models, which loads their SDKs for seconds."""
        if box is None or self.settings.mock:
            return None
        coded = [suite for suite in {id(plan.suite): plan.suite for plan in plans}.values() if suite.executes_code]
        return beside.submit(self.self_test, coded, box)

    def _course(self, jobs: Mapping[JobKey, Job], limits: Limits) -> Course:
        return Course(
            planned=Counter(job.model.spec for job in jobs.values()),
            judge=self.judge.spec if self.judge and not self.settings.mock else None,
            budget=limits.budget,
        )

    def _judge(self, limits: Limits, stack: ExitStack) -> Judge | None:
        if self.judge is None:
            return None
        judge = Judge(limits.held(self.judge))
        stack.callback(judge.close)
        return judge

    def _scored(
        self, jobs: Mapping[JobKey, Job], limits: Limits, by: Scorers, stopper: Stopping | None
    ) -> dict[JobKey, Scored]:
        """Calls and scoring overlap: an answer is scored as it arrives, on as many threads as there are cores, or as
        calls may be in flight where a judge is asked."""
        names = {id(job): key for key, job in jobs.items()}

        def settle(job: Job, attempt: Attempt) -> tuple[JobKey, Scored]:
            score = score_attempt(job.task, attempt, by.box, by.judge)
            self.watch(job.model.spec, attempt, score)
            return names[id(job)], (attempt, score)

        def followed(job: Job, attempt: Attempt) -> tuple[JobKey, Scored]:
            assert stopper
            with stopper.closed_by_errors():
                settled = settle(job, attempt)
                stopper.settled(*settled)
            return settled

        step = followed if stopper else settle
        with (
            stopper or nullcontext(),
            Daemons(cores(), name="score", grace_s=GRACE_S) as scorers,
            Daemons(limits.concurrency, name="judge", grace_s=GRACE_S) as judges,
        ):
            scored: dict[JobKey, Scored] = {}
            waiting: deque[tuple[Job, Attempt, Future[tuple[JobKey, Scored]]]] = deque()
            for job, attempt in run_attempts(jobs.values(), limits, attempt=_while_wanted(stopper, jobs)):
                if attempt is not NOT_ASKED:
                    pool = judges if _is_judged(job) else scorers
                    waiting.append((job, attempt, pool.submit(partial(step, job, attempt))))
                while waiting and waiting[0][2].done():  # a future takes more memory than a score
                    scored.update([waiting.popleft()[2].result()])
            for job, attempt, future in waiting:
                if _is_judged(job) and _is_late(future, limits.deadline):
                    judges.drop()
                    scored[names[id(job)]] = (attempt, self._unjudged(job, attempt, limits))
                else:
                    scored.update([awaited(future)])
            return scored

    def _unjudged(self, job: Job, attempt: Attempt, limits: Limits) -> Score:
        assert limits.deadline is not None
        score = failed(Cause.DEADLINE, f"the judge gave no verdict: {limits.deadline.cut()}")
        self.watch(job.model.spec, attempt, score)
        return score

    def _limits(self) -> Limits:
        settings = self.settings
        if settings.mock:
            return Limits(concurrency=settings.concurrency)
        throttles = Throttles(
            settings.concurrency, patience=settings.patience, say=self.warn, deadline=settings.deadline
        )
        return Limits(
            concurrency=settings.concurrency,
            budget=self._budget(),
            throttles=throttles,
            deadline=settings.deadline,
        )

    def _budget(self) -> Budget:
        cap = self.settings.max_cost_usd
        return Budget(math.inf if cap is None else cap, self._price, self._near_cap)

    def _near_cap(self, spent: float, cap: float) -> None:
        self.warn(f"{dollars(spent)} of the {dollars(cap)} that this run may spend is spent")

    def _price(self, spec: ModelSpec, usage: Usage) -> float:
        return cost_usd(usage, self.snapshot.rates[spec])

    def _spending(self, scored: Outcomes, budget: Budget | None) -> Spending:
        answers = [(key[0], attempt) for key, (attempt, _) in scored.items() if attempt.text is not None]
        kept = [self._price(spec, attempt.usage or Usage()) for spec, attempt in answers if attempt.reused_from]
        return Spending(
            asked=len(answers) - len(kept),
            spent_usd=budget.answered_usd if budget else 0.0,
            reused=len(kept),
            reused_usd=math.fsum(kept),
            unseen_usd=budget.unseen_usd if budget else 0.0,
        )


def _may_stop(plans: Sequence[RowPlan]) -> bool:
    return any(plan.stop_at is not None for plan in plans)


def _while_wanted(stopper: Stopping | None, jobs: Mapping[JobKey, Job]) -> Attempting:
    """Makes an attempt when its turn has come and if a row still needs it."""
    if stopper is None:
        return attempt_single
    names = {(id(job.task), job.model.spec, job.sampling, job.sample): key for key, job in jobs.items()}

    def attempt(task: Task, model: Model, sampling: Sampling, sample: int) -> Attempt:
        if not stopper.wants(names[id(task), model.spec, sampling, sample]):
            return NOT_ASKED
        return attempt_single(task, model, sampling, sample)

    return attempt


def _with_kept(plan: RowPlan, used: Collection[str]) -> RowPlan:
    """The plan with the tasks that the row rests on; what else was answered stays in the journal."""
    kept = frozenset(used)
    if len(kept) == len(plan.suite.tasks):
        return plan
    return replace(plan, kept=replace(plan.suite, tasks=tuple(task for task in plan.suite.tasks if task.id in kept)))


def _is_judged(job: Job) -> bool:
    return isinstance(job.task.check, JudgedCheck)


def _is_late(verdict: Future[Any], deadline: Deadline | None) -> bool:
    """Whether it is not there when the deadline's grace has ended."""
    if deadline is None:
        return False
    while not verdict.done() and (left_s := deadline.left_s() + deadline.grace_s) > 0:
        wait([verdict], timeout=min(LOOK_UP_S, left_s))
    return not verdict.done()


def _with_spent(plan: RowPlan, spent_usd: float) -> RowPlan:
    if plan.shard is None:
        return plan
    return replace(plan, shard=plan.shard.model_copy(update={"spent_usd": round(spent_usd, 8)}))


def _summaries(limits: Limits) -> tuple[str, ...]:
    return limits.throttles.summaries() if limits.throttles else ()


def _problems(scored: Outcomes, *, private: bool = False) -> tuple[str, ...]:
    """What went wrong with calls, most frequent first: one sentence a model and kind of trouble. In a ``private`` run
    only what ends the asking is quoted: it is about the key or the model."""
    groups: dict[tuple[ModelSpec, str], list[str]] = defaultdict(list)
    for key, (attempt, _) in scored.items():
        if attempt.trouble:
            groups[key[0], attempt.trouble].append(attempt.error)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(
        f"{spec}: {len(errors)} {'call' if len(errors) == 1 else 'calls'} failed ({trouble})"
        + ("" if private and not Trouble(trouble).permanent else f": {one_line(errors[0])}")
        for (spec, trouble), errors in ranked
    )
