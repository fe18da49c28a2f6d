"""Before a dollar is spent: in the box that is here, right answers pass, stubs fail, and nobody forges a pass."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tjbench import __version__
from tjbench.box.values import encode
from tjbench.errors import DOCUMENTATION, IncompleteError
from tjbench.models.model import Finish
from tjbench.runner.attempt import Attempt
from tjbench.sandbox import Box, cores
from tjbench.scoring.score import Score
from tjbench.scoring.scorer import SCORER_VERSION, score_attempt
from tjbench.suites.task import Suite, Task, UnitTests, digest

TASKS = 200
"""Of a larger suite so many tasks are tested, evenly spread."""
_STUBBED = 10
"""Of a packaged suite, whose tests are tested where it is made, every tenth task's stub; of any other, every one."""
_SAID = encode(("passed", ""))
_VERDICT = len(_SAID).to_bytes(4, "little") + _SAID
_COMPLAINTS = 3  # enough to see what is wrong; the rest is not run
_EQUAL = "returns what equals everything"
_FORGED = {
    "leaves with exit code 0": "import os\ndef {name}(*args, **kwargs):\n    os._exit(0)\n",
    _EQUAL: (
        "class Equal(int):\n"
        "    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda *_: True\n"
        "    __hash__ = int.__hash__\n"
        "def {name}(*args, **kwargs):\n"
        "    return Equal(0)\n"
    ),
    "writes a verdict of its own": (
        "import os\n"
        "def {name}(*args, **kwargs):\n"
        "    for fd in range(64):\n"
        "        try:\n"
        f"            os.write(fd, {_VERDICT!r})\n"
        "        except OSError:\n"
        "            pass\n"
        "    os._exit(0)\n"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """An answer of which it is known whether it passes; ``words`` say what it is."""

    task: Task
    words: str
    answer: str
    passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Judges known answers to the suites about to run. ``cache`` is a directory that remembers what passed; ``say``
    tells people how it went."""

    cache: Path | None = None
    say: Callable[[str], None] = field(default=lambda _text: None)

    def __call__(self, suites: Sequence[Suite], box: Box) -> None:
        """Raises ``IncompleteError``, naming task and outcome, when a suite's known answers are misjudged."""
        for suite in suites:
            name = _revision(suite, box)
            if self._remembers(name):
                continue
            started = time.monotonic()
            cases = list(_cases(suite))
            wrong = _misjudged(cases, box)
            if wrong:
                raise IncompleteError(
                    f"the self-test of the suite {suite.name} failed, so no model was asked",
                    why="; ".join(wrong[:_COMPLAINTS]),
                    fix="`tjb doctor` shows what the sandbox is here"
                    if suite.packaged
                    else f"correct the task's tests or its canned answers; see {DOCUMENTATION}/benchmarks.md",
                )
            self._remember(name)
            seconds = time.monotonic() - started
            self.say(f"self-test of {suite.name}: {len(cases)} known answers judged right in {seconds:.1f} s")

    def _remembers(self, name: str) -> bool:
        with suppress(OSError):
            return self.cache is not None and (self.cache / name).is_file()
        return False

    def _remember(self, name: str) -> None:
        # Without a place to write, the next run tests again; that is all.
        with suppress(OSError):
            if self.cache is not None:
                self.cache.mkdir(parents=True, exist_ok=True)
                (self.cache / name).touch()


def _revision(suite: Suite, box: Box) -> str:
    """Names all that decides how the suite's known answers are judged here."""
    answers = [[task.canned.right, task.canned.wrong] if task.canned else None for task in suite.tasks]
    parts = [__version__, SCORER_VERSION, suite.name, suite.checks_revision, answers, str(box.level), sys.version]
    return digest(parts)


def _cases(suite: Suite) -> Iterator[_Case]:
    coded = [(task, task.check) for task in suite.tasks if isinstance(task.check, UnitTests)]
    count = min(TASKS, len(coded))
    chosen = [coded[number * len(coded) // count] for number in range(count)]
    for task, _ in chosen:
        if task.canned:
            yield _Case(task=task, words="the right answer", answer=task.canned.right, passes=True)
    for task, check in chosen[:: _STUBBED if suite.packaged else 1]:
        stub = f"def {check.entry_point}(*args, **kwargs):\n    raise NotImplementedError\n"
        yield _Case(task=task, words="a stub", answer=stub, passes=False)
        if task.canned:
            yield _Case(task=task, words="the wrong answer", answer=task.canned.wrong, passes=False)
    for task, check in chosen[:1]:
        for words, code in _FORGED.items():
            if check.kind == "shared_unit_tests" and words == _EQUAL:
                continue  # in one interpreter such an object is what the tests see
            answer = code.replace("{name}", check.entry_point)
            yield _Case(task=task, words=f"an answer that {words}", answer=answer, passes=False)


def _misjudged(cases: Sequence[_Case], box: Box) -> list[str]:
    """Sentences about the first cases that are not judged as they must be; no more are run once there are enough."""
    found: list[str] = []

    def judge(case: _Case) -> None:
        if len(found) >= _COMPLAINTS:
            return
        score = _judged(case, box)
        if score.passed is not case.passes:
            found.append(f"{case.task.id}: {case.words} {_said(score)}")

    with ThreadPoolExecutor(cores(), thread_name_prefix="self-test") as pool:
        list(pool.map(judge, cases))
    return found


def _judged(case: _Case, box: Box) -> Score:
    attempt = Attempt(task_id=case.task.id, sample=0, text=case.answer, finish=Finish.STOP)
    return score_attempt(case.task, attempt, box)


def _said(score: Score) -> str:
    if score.passed:
        return "passes"
    verb = "fails" if score.passed is False else "cannot be judged"
    return f"{verb} ({score.cause}: {score.detail})"
