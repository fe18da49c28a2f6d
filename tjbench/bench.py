"""The composition root: ask the models, score what they say, price it, compare, and state it as artifacts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any

from tjbench import __version__
from tjbench.compare.artifact import (
    Artifact,
    Flag,
    ReplayRecord,
    RowKey,
    SamplingRecord,
    ShardRecord,
    SuiteRecord,
    TaskRecord,
    counts_free_cache,
    derive,
)
from tjbench.compare.early_stop import evidence, place, stopped_reason
from tjbench.compare.pair import Pair, Rule, Trial
from tjbench.config import ModelSpec
from tjbench.early_stop import FollowedRow, FollowedTask, Stopper
from tjbench.models.model import Model, Sampling, Trouble
from tjbench.pricing import Usage, cost_usd
from tjbench.report.units import dollars
from tjbench.reuse import Asked, Stored
from tjbench.runner.attempt import Attempt
from tjbench.runner.budget import Budget
from tjbench.runner.course import Course
from tjbench.runner.daemons import LOOK_UP_S, Daemons, awaited
from tjbench.runner.deadline import Deadline
from tjbench.runner.patience import Patience
from tjbench.runner.patient import Throttles
from tjbench.runner.pool import Attempting, Job, Limits, run_attempts
from tjbench.runner.single import attempt_single
from tjbench.sandbox import Box, cores, open_box
from tjbench.scoring.blame import suspect_scorer
from tjbench.scoring.judge import Judge
from tjbench.scoring.score import Cause, Score, failed, one_line
from tjbench.scoring.scorer import SCORER_VERSION, score_attempt
from tjbench.spending import Spending
from tjbench.suites.task import JudgedCheck, Suite, Task
from tjbench.tokenjam import Snapshot, claimed_saving_pct

USERS_TO_MEND = frozenset({Trouble.AUTHENTICATION, Trouble.NOT_FOUND})
NO_SANDBOX = "not_used"
GRACE_S = 1.0
"""How long an interrupt waits for verdicts and scores that are under way."""

JobKey = tuple[ModelSpec, str, str, int, Sampling]
Scored = tuple[Attempt, Score]
Stopping = Stopper[JobKey, Scored]
NOT_ASKED = Attempt(task_id="", sample=0)
"""Stands where no attempt was made, for every row that would need it has stopped."""
Sent = dict[str, dict[str, float | int | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """A row of recorded calls. Without a control ``reference`` has what the original did at each task, by its id, and
    the original is not asked. ``n_partial`` calls were sent with more than was recorded."""

    judged_by: str
    reference: Mapping[str, Trial] | None
    n_partial: int = 0

    @property
    def record(self) -> ReplayRecord:
        return ReplayRecord(control=self.reference is None, judged_by=self.judged_by, n_partial=self.n_partial)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """One row to measure: ``samples`` attempts a task on both models, judged by ``rule``. Of a run that is split,
    ``suite`` holds the part that ``shard`` names. Attempts are numbered from ``first_sample``: later ones are new calls
    beside those that were made. ``stop_at`` is the evidence of a regression at which no more tasks are asked; the row
    then rests on those that are ``kept``."""

    suite: Suite
    original: ModelSpec
    candidate: ModelSpec
    slot: str
    recommended_by: str
    sampling: Sampling
    samples: int
    rule: Rule
    shard: ShardRecord | None = None
    first_sample: int = 0
    replay: ReplayPlan | None = None
    stop_at: float | None = None
    kept: Suite | None = None

    @property
    def row(self) -> RowKey:
        """What is compared with what across time."""
        return RowKey(self.suite.name, str(self.original), self.slot)

    @property
    def held(self) -> Suite:
        """The tasks that the artifact holds, in the suite's order."""
        return self.kept or self.suite

    @property
    def draws(self) -> range:
        """The numbers of a task's attempts."""
        return range(self.first_sample, self.first_sample + self.samples)

    def key(self, spec: ModelSpec, task: Task, sample: int) -> JobKey:
        """Names one attempt, whichever rows need it."""
        return (spec, self.suite.name, task.id, sample, self.sampling)

    @property
    def reference(self) -> Mapping[str, Trial] | None:
        """What stands for the original where it is not asked."""
        return self.replay.reference if self.replay else None

    @property
    def asked(self) -> tuple[ModelSpec, ...]:
        """The models that are asked."""
        return (self.candidate,) if self.reference is not None else (self.original, self.candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run goes about it. ``max_cost_usd`` is a hard cap on what this run spends; ``None`` is no cap.
    ``concurrency`` calls are in flight to each provider at most. In a ``private`` run the tasks hold text of customers:
    nothing that may quote it goes into results."""

    concurrency: int = 16
    max_cost_usd: float | None = None
    deadline: Deadline | None = None
    patience: Patience = field(default_factory=Patience)
    mock: bool = False
    seed: int | None = None
    commit: str | None = None
    allow_unsandboxed: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One attempt with its score, for the transcript."""

    model: ModelSpec
    attempt: Attempt
    score: Score

    def as_json(self) -> dict[str, object]:
        """The transcript line."""
        return {"model": str(self.model), "attempt": asdict(self.attempt), "score": asdict(self.score)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row's artifact, its answers, and why it is not complete where it is not."""

    artifact: Artifact
    answers: tuple[Answer, ...]


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


ModelOpener = Callable[[ModelSpec, Suite], Model]
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
            measured=tuple(self._measured(plan, scored, finished, level) for plan in plans),
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
                if self._reused(plan, spec, task):
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
        def pair(task: Task, scored: Mapping[JobKey, Scored]) -> Pair:
            before, after = (self._trial(plan, spec, task, scored) for spec in (plan.original, plan.candidate))
            return Pair(task_id=task.id, before=before, after=after)

        def keys(task: Task) -> tuple[JobKey, ...]:
            own = (plan.key(spec, task, sample) for spec in dict.fromkeys(plan.asked) for sample in plan.draws)
            return tuple(key for key in own if key in jobs)

        ordered = sorted(plan.suite.tasks, key=lambda task: place(self.settings.seed, plan.suite.name, task.id))
        followed = [FollowedTask(task_id=task.id, keys=keys(task), pair=partial(pair, task)) for task in ordered]
        return FollowedRow(followed, plan.rule, plan.stop_at)

    def _reused(self, plan: RowPlan, spec: ModelSpec, task: Task) -> Trial | None:
        """The stored outcome that stands in for asking ``spec``; attempts beside those made are always new."""
        if self.settings.mock or plan.first_sample:
            return None
        asked = Asked(
            suite=plan.suite.name,
            spec=spec,
            sampling=plan.sampling,
            samples=plan.samples,
            scorer_version=SCORER_VERSION,
            judge=str(self.judge.spec) if self.judge and plan.suite.judged else None,
        )
        return self.stored.find(asked, task, is_original=spec == plan.original)

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

    def _spending(self, scored: Mapping[JobKey, Scored], budget: Budget | None) -> Spending:
        answers = [(key[0], attempt) for key, (attempt, _) in scored.items() if attempt.text is not None]
        kept = [self._price(spec, attempt.usage or Usage()) for spec, attempt in answers if attempt.reused_from]
        return Spending(
            asked=len(answers) - len(kept),
            spent_usd=budget.answered_usd if budget else 0.0,
            reused=len(kept),
            reused_usd=math.fsum(kept),
            unseen_usd=budget.unseen_usd if budget else 0.0,
        )

    def _measured(self, plan: RowPlan, scored: Mapping[JobKey, Scored], at: datetime, level: str) -> Measured:
        answers = [
            Answer(model=spec, attempt=attempt, score=score)
            for spec in dict.fromkeys((plan.original, plan.candidate))
            for task in plan.held.tasks
            for attempt, score in _made(plan, spec, task, scored)
        ]
        records = [
            TaskRecord(
                task_id=task.id,
                check_hash=task.check_hash,
                prompt_hash=task.prompt_hash,
                original=self._trial(plan, plan.original, task, scored),
                candidate=self._trial(plan, plan.candidate, task, scored),
            )
            for task in plan.held.tasks
        ]
        used = {str(spec) for spec in (plan.original, plan.candidate)}
        sent = {model: dict(found) for model, found in self.stored.sent.items() if model in used and found}
        sent |= {str(answer.model): dict(answer.attempt.sent) for answer in answers if answer.attempt.sent}
        return Measured(artifact=self._artifact(plan, records, sent, at, level), answers=tuple(answers))

    def _trial(self, plan: RowPlan, spec: ModelSpec, task: Task, scored: Mapping[JobKey, Scored]) -> Trial:
        """Another row may have asked what this one would have reused: then that is what holds."""
        if plan.reference is not None and spec == plan.original:
            return plan.reference[task.id]
        made, held = _made(plan, spec, task, scored), self._reused(plan, spec, task)
        if held is not None and len(made) < plan.samples:
            return held
        return _without_text(build_trial(made)) if self.settings.private else build_trial(made)

    def _artifact(self, plan: RowPlan, records: Sequence[TaskRecord], sent: Sent, at: datetime, level: str) -> Artifact:
        original, candidate = str(plan.original), str(plan.candidate)
        rates = {str(spec): self.snapshot.rates[spec] for spec in (plan.original, plan.candidate)}
        guessed = any(rate.source == "default" for rate in rates.values())
        claimed = None if guessed else claimed_saving_pct(rates[original], rates[candidate])
        flags = {
            Flag.MOCK: self.settings.mock,
            Flag.DEFAULT_RATES: guessed,
            Flag.UNKNOWN_CACHE_RATE: counts_free_cache(records, rates, original, candidate),
            Flag.JUDGE_SCORED: plan.suite.judged,
            Flag.OVERRIDES: any(rate.source == "override" for rate in rates.values()),
            Flag.SUSPECT_SCORER: suspect_scorer(r.original for r in records)
            or suspect_scorer(r.candidate for r in records),
            Flag.REUSED: any(trial.reused_from for r in records for trial in (r.original, r.candidate)),
        }
        return Artifact.model_validate(
            {
                "schema": "tjbench/1",
                "bench_version": __version__,
                "tokenjam_version": self.snapshot.version,
                "created_at": at,
                "suite": SuiteRecord(
                    name=plan.suite.name,
                    prompts_revision=plan.held.prompts_revision,
                    checks_revision=plan.held.checks_revision,
                    n_available=plan.suite.n_available,
                ),
                "original_model": original,
                "candidate_model": candidate,
                "slot": plan.slot,
                "recommended_by": plan.recommended_by,
                "sampling": SamplingRecord(
                    samples=plan.samples,
                    temperature=plan.sampling.temperature,
                    max_tokens=plan.sampling.max_tokens,
                    sent=sent,
                ),
                "seed": self.settings.seed,
                "scorer_version": SCORER_VERSION,
                "sandbox_level": _held(level, plan.suite),
                "judge": str(self.judge.spec) if self.judge and plan.suite.judged else None,
                "mock": self.settings.mock,
                "priced_with_defaults": guessed,
                "flags": tuple(flag for flag, is_set in flags.items() if is_set),
                "rates": rates,
                "claimed_saving_pct": None if claimed is None else round(claimed, 4),
                "commit": self.settings.commit,
                "shard": plan.shard,
                "replay": plan.replay.record if plan.replay else None,
                "tasks": tuple(records),
                **derive(records, rates, original, candidate, plan.rule, uncontrolled=plan.reference is not None),
                **_early_stop(plan, records),
            }
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


def _made(plan: RowPlan, spec: ModelSpec, task: Task, scored: Mapping[JobKey, Scored]) -> list[Scored]:
    keys = (plan.key(spec, task, sample) for sample in plan.draws)
    return [scored[key] for key in keys if key in scored]


def _early_stop(plan: RowPlan, records: Sequence[TaskRecord]) -> dict[str, object]:
    """What the artifact of a row that could stop says of that."""
    if plan.stop_at is None:
        return {}
    used, planned = len(records), len(plan.suite.tasks)
    e = evidence(Pair(task_id=r.task_id, before=r.original, after=r.candidate) for r in records)
    told = {"verdict_reason": stopped_reason(records, planned)} if used < planned else {}
    return {"early_stop": {"e_value": e, "n_used": used, "n_planned": planned, "e_needed": plan.stop_at}, **told}


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


def _held(level: str, suite: Suite) -> str:
    """How the suite's answers were held, with what weakens it."""
    if not suite.executes_code:
        return NO_SANDBOX
    return f"{level}, tests share the answer's interpreter" if suite.shares_interpreter else level


def build_trial(scored: Sequence[Scored]) -> Trial:
    """One task on one model from its k scored attempts, in the order of their samples."""
    troubled = next(((a, s) for a, s in scored if s.passed is not True), None)
    latencies = [attempt.latency_s for attempt, _ in scored if attempt.latency_s is not None]
    return Trial(
        passes=sum(score.passed is True for _, score in scored),
        samples=len(scored),
        unscored=sum(score.passed is None for _, score in scored),
        usage=sum((attempt.usage for attempt, _ in scored if attempt.usage), Usage()),
        latency_s=round(sum(latencies) / len(latencies), 3) if latencies else None,
        cause=str(troubled[1].cause) if troubled else None,
        detail=one_line(troubled[1].detail) if troubled else "",
        reused_from=next((attempt.reused_from for attempt, _ in scored if attempt.reused_from), None),
    )


def _without_text(trial: Trial) -> Trial:
    """The trial without what a provider or a judge said; a score's own words are numbers."""
    said = trial.detail.partition(": ")[0] if trial.cause == Cause.WRONG_ANSWER else ""
    return replace(trial, detail=said)


def _summaries(limits: Limits) -> tuple[str, ...]:
    return limits.throttles.summaries() if limits.throttles else ()


def _problems(scored: Mapping[JobKey, Scored], *, private: bool = False) -> tuple[str, ...]:
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
