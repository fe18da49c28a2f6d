"""What is asked: a task, the check that decides it, and the suite that holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCheck:
    """The answer's final number equals ``expected`` (a decimal literal or a fraction such as ``1/3``).

    ``percent`` says what ``60%`` is worth in an answer: 60 as written, 0.6 as a fraction.
    """

    expected: str
    percent: Literal["as_written", "as_fraction"] = "as_written"
    kind: Literal["number"] = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCheck:
    """The answer equals, contains, matches or chooses ``expected``; ``exact`` and ``contains`` fold case unless
    ``case_sensitive``; ``labels`` are what a choice is made from."""

    kind: Literal["exact", "contains", "regex", "choice"]
    expected: str
    case_sensitive: bool = False
    labels: tuple[str, ...] = ("A", "B", "C", "D")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTests:
    """The answer defines ``entry_point``; ``tests`` define ``check(candidate)``, which raises when it is wrong.

    ``preamble`` is the code that the prompt showed before the entry point (imports and helpers) together with the
    entry point's own signature and docstring: an answer may rely on the former and may continue the latter. Tests of
    the kind ``shared_unit_tests`` run in the answer's own interpreter, where a pass can be tampered with.
    """

    entry_point: str
    preamble: str
    tests: str
    kind: Literal["unit_tests", "shared_unit_tests"] = "unit_tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCheck:
    """The answer's JSON holds ``expected`` by value (``subset``) or conforms to it (``schema``); ``expected`` is JSON
    text with its keys in order."""

    mode: Literal["subset", "schema"]
    expected: str
    kind: Literal["json"] = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCheck:
    """A judge model gives the answer at least ``threshold`` (a proportion) for ``criteria``, ``reference`` in view.

    ``threshold`` is ``None`` until the configuration's is taken over.
    """

    criteria: str
    reference: str | None = None
    threshold: float | None = None
    kind: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapCheck:
    """The answer's words overlap with those of ``reference`` by at least ``threshold`` (F1 of tokens, a proportion)."""

    reference: str
    threshold: float = 0.5
    kind: Literal["overlap"] = "overlap"


Check = NumberCheck | TextCheck | JsonCheck | UnitTests | JudgedCheck | OverlapCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned:
    """Scripted answers for the mock model; never part of a prompt."""

    right: str
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question with its check. ``id`` is unique within its suite.

    ``salt`` goes into both hashes where prompt and check are private: a short text is guessed from its hash otherwise.
    """

    id: str
    messages: tuple[Message, ...]
    check: Check
    canned: Canned | None = None
    salt: str = ""

    @property
    def prompt_hash(self) -> str:
        """Names exactly what the model is shown."""
        return digest([*self._salted, *(asdict(message) for message in self.messages)])

    @property
    def check_hash(self) -> str:
        """Names exactly what decides the task; outcomes are paired on it."""
        check = asdict(self.check)
        return digest([*self._salted, check] if self.salt else check)

    @property
    def _salted(self) -> list[object]:
        return [self.salt] if self.salt else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tasks in their order. ``packaged`` suites ship with us, so their mock answers are trusted code."""

    name: str
    tasks: tuple[Task, ...]
    packaged: bool
    n_available: int
    description: str = ""
    source: str = field(default="", compare=False)

    @property
    def executes_code(self) -> bool:
        """Whether scoring runs what the model wrote."""
        return any(isinstance(task.check, UnitTests) for task in self.tasks)

    @property
    def shares_interpreter(self) -> bool:
        """Whether tests of some task run in the answer's own interpreter."""
        return any(isinstance(task.check, UnitTests) and task.check.kind == "shared_unit_tests" for task in self.tasks)

    @property
    def judged(self) -> bool:
        """Whether a judge model decides any task."""
        return any(isinstance(task.check, JudgedCheck) for task in self.tasks)

    @property
    def prompts_revision(self) -> str:
        """Changes whenever any prompt of the suite does."""
        return digest([[task.id, task.prompt_hash] for task in self.tasks])

    @property
    def checks_revision(self) -> str:
        """Changes whenever any check of the suite does."""
        return digest([[task.id, task.check_hash] for task in self.tasks])


def digest(value: Mapping[str, object] | Sequence[object]) -> str:
    """The first 16 hex digits of the SHA-256 of ``value`` as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
