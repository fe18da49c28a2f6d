"""`tjb score`: answers made elsewhere, judged by a suite's own checks."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from tjbench.completions import Completion, read_completions
from tjbench.errors import ExitCode, UsageError
from tjbench.models.model import Finish
from tjbench.progress import Progress
from tjbench.report.units import counted, number, percent
from tjbench.runner.attempt import Attempt
from tjbench.sandbox import Box, cores, open_box
from tjbench.scoring.score import Score, one_line
from tjbench.scoring.scorer import SCORER_VERSION, score_attempt
from tjbench.scoring.tally import Tally, Totals
from tjbench.suites.task import Suite, Task
from tjbench.workplace import Workplace

AHEAD = 256
"""Completions that are read before the oldest of them is judged; one that hangs holds up no more."""
_NAMED = 5  # tasks without a completion that are told by name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What `tjb score` was asked for."""

    benchmark: str
    completions: Path
    data: str | None = None
    json: bool = False
    allow_unsandboxed: bool = False


def score_completions(request: ScoreRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Judge every completion of a file, in its order and on all cores; stdout is written to when all are judged.

    Raises ``UsageError`` with file and line for a completion that cannot be read or answers no task of the suite.
    """
    suite = place.suite_loader()(request.benchmark, request.data)
    if suite.judged:
        raise UsageError(
            f"the suite {suite.name} cannot be scored this way",
            why="some of its tasks are decided by a judge model, and tjb score asks none",
            fix="measure it with tjb run",
        )
    tasks = {task.id: task for task in suite.tasks}
    progress, tally = Progress(stderr), Tally()
    with ExitStack() as stack:
        stack.callback(progress.finish)
        samples = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
        box = None
        if suite.executes_code:
            box = stack.enter_context(open_box(workers=cores(), allow_unsandboxed=request.allow_unsandboxed))
        for completion, score in scores(read_completions(place.root / request.completions, tasks), tasks, box):
            tally.add(completion.task_id, score)
            progress.count(suite.name, score)
            if request.json:
                samples.write(f"  {_sample(completion, score)},\n")
        progress.finish()
        totals = tally.totals()
        if not totals.n_samples:
            raise UsageError(f"{request.completions} holds no completion")
        unanswered = [task_id for task_id in tasks if task_id not in tally.samples]
        (stderr if request.json else stdout).write("\n".join([*render(suite, totals, unanswered), ""]))
        if request.json:
            about = {
                "benchmark": suite.name,
                "scorer_version": SCORER_VERSION,
                "sandbox_level": str(box.level) if box else "not_used",
                **asdict(totals),
                "tasks_without_completion": unanswered,
            }
            _write_json(about, samples, stdout)
    return ExitCode.PASSED if totals.passed or totals.failed else ExitCode.INCOMPLETE


def scores(
    completions: Iterable[Completion], tasks: Mapping[str, Task], box: Box | None
) -> Generator[tuple[Completion, Score], None, None]:
    """Each completion with its score, in order, few of them held at a time."""

    def judged(completion: Completion) -> tuple[Completion, Score]:
        attempt = Attempt(
            task_id=completion.task_id, sample=completion.sample, text=completion.text, finish=Finish.STOP
        )
        return completion, score_attempt(tasks[completion.task_id], attempt, box)

    pool = ThreadPoolExecutor(cores() + 1, thread_name_prefix="score")
    waiting: deque[Future[tuple[Completion, Score]]] = deque()
    try:
        for completion in completions:
            waiting.append(pool.submit(judged, completion))
            if len(waiting) >= AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # A bad line or an interrupt waits for no score: closing the box ends what still runs in it.
        pool.shutdown(wait=False, cancel_futures=True)


def render(suite: Suite, totals: Totals, unanswered: list[str]) -> Iterator[str]:
    """The result in lines for people."""
    yield (
        f"{suite.name}: {counted(totals.n_samples, 'completion')} of {counted(totals.n_tasks, 'task')}: "
        f"{number(totals.passed)} passed, {number(totals.failed)} failed, {number(totals.unscored)} unscored"
    )
    if totals.pass_at_k:
        yield ", ".join(f"pass@{k} {percent(100 * value)}" for k, value in totals.pass_at_k.items())
    for cause, count in totals.causes.items():
        classes = ", ".join(f"{number(n)} {name}" for name, n in totals.exceptions.items())
        yield f"  {number(count)} {cause}{f' ({classes})' if cause == 'exception' else ''}"
    if unanswered:
        more = f" and {number(len(unanswered) - _NAMED)} more" if len(unanswered) > _NAMED else ""
        yield f"not answered, and in no rate: {', '.join(unanswered[:_NAMED])}{more}"


def _sample(completion: Completion, score: Score) -> str:
    record = {
        "task_id": completion.task_id,
        "sample": completion.sample,
        "passed": score.passed,
        "cause": score.cause,
        "detail": one_line(score.detail),
    }
    return json.dumps(record)


def _write_json(about: Mapping[str, object], samples: TextIO, stdout: TextIO) -> None:
    """One document; its samples, a line each with a comma behind it, are copied from a file and never held."""
    stdout.write(json.dumps(about, indent=1).removesuffix("\n}") + ',\n "samples": [\n')
    size = samples.tell() - len(",\n")
    samples.seek(0)
    while chunk := samples.read(min(1 << 16, size)):
        stdout.write(chunk)
        size -= len(chunk)
    stdout.write("\n ]\n}\n")
