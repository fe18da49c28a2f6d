"""One line of a suite file as the user writes it, and the task that it means."""

from __future__ import annotations

import ast
import keyword
import re
from decimal import Context, Decimal
from typing import Annotated, Literal, Self

import regex
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from tjbench.suites.task import Canned, Check, Message, NumberCheck, Task, TextCheck, UnitTests

PLACEHOLDER = "{prompt}"
CHECK_KINDS = ("number", "exact", "contains", "regex", "choice", "unit_tests")

_EXACT = Context(prec=250)
_NUMBER = re.compile(r"[+-]?(?:\d{1,100}(?:\.\d{1,100})?|\.\d{1,100})|[+-]?\d{1,50}/0*[1-9]\d{0,49}", re.ASCII)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must hold printable characters only")
    return text


def _number_literal(value: object) -> str:
    if isinstance(value, Decimal) and abs(value.adjusted()) <= 100:
        value = format(value, "f")
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError('must be a number such as 42, "-3.5" or "1/3", without a thousands separator or unit')
    return text.strip()


def _pattern(text: str) -> str:
    try:
        regex.compile(text, regex.VERSION0)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return text


def _template(text: str) -> str:
    if PLACEHOLDER not in text:
        raise ValueError(f"must hold {PLACEHOLDER}, where each task's prompt goes")
    return text


def _python_name(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise ValueError("must be the name of a Python function")
    return text


def _python_tests(text: str) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not Python: {error}") from error
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        raise ValueError("must define check(candidate), which raises when the candidate is wrong")
    return text


Text = Annotated[str, AfterValidator(_filled)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Header(_Record):
    """What the first line may say for all tasks."""

    system: Text | None = None
    prompt_template: Annotated[str, AfterValidator(_template)] | None = None
    description: str = ""


class MessageRecord(_Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: Text


class CannedRecord(_Record):
    """What the mock model answers."""

    right: Text
    wrong: Text

    def canned(self) -> Canned:
        return Canned(right=self.right, wrong=self.wrong)


class NumberRecord(_Record):
    """``{"number": 42}``."""

    number: Annotated[str, BeforeValidator(_number_literal)]
    percent: Literal["as_written", "as_fraction"] = "as_written"

    def check(self) -> Check:
        return NumberCheck(expected=self.number, percent=self.percent)

    def canned(self) -> Canned:
        over, slash, under = self.number.partition("/")
        wrong = f"{int(over) + int(under)}/{under}" if slash else format(_EXACT.add(Decimal(over), Decimal(1)), "f")
        return Canned(right=self.number, wrong=wrong)


class ExactRecord(_Record):
    """``{"exact": "Paris"}``."""

    exact: Text
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="exact", expected=self.exact, case_sensitive=self.case_sensitive)

    def canned(self) -> Canned:
        return Canned(right=self.exact, wrong=f"not {self.exact}")


class ContainsRecord(_Record):
    """``{"contains": "Paris"}``."""

    contains: Text
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="contains", expected=self.contains, case_sensitive=self.case_sensitive)

    def canned(self) -> Canned:
        return Canned(right=self.contains, wrong="no" if self.contains.strip() == "?" else "?")


class RegexRecord(_Record):
    """``{"regex": "..."}``."""

    regex: Annotated[str, Field(max_length=2000), AfterValidator(_filled), AfterValidator(_pattern)]
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="regex", expected=self.regex, case_sensitive=self.case_sensitive)

    def canned(self) -> None:
        return None


class ChoiceRecord(_Record):
    """``{"choice": "B"}``."""

    choice: str
    labels: Annotated[list[Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,20}$")]], Field(min_length=2)] = Field(
        default_factory=lambda: ["A", "B", "C", "D"]
    )

    @model_validator(mode="after")
    def _choice_is_a_label(self) -> Self:
        if len({label.casefold() for label in self.labels}) < len(self.labels):
            raise ValueError("labels must differ by more than their case")
        if self.choice not in self.labels:
            raise ValueError(f"choice must be one of the labels ({', '.join(self.labels)}); others go in labels")
        return self

    def check(self) -> Check:
        return TextCheck(kind="choice", expected=self.choice, labels=tuple(self.labels))

    def canned(self) -> Canned:
        return Canned(right=self.choice, wrong=next(label for label in self.labels if label != self.choice))


class UnitTestsBody(_Record):
    """The function asked for and the code that decides."""

    entry_point: Annotated[str, AfterValidator(_python_name)]
    tests: Annotated[str, AfterValidator(_python_tests)]
    preamble: str = ""


class UnitTestsRecord(_Record):
    """``{"unit_tests": {...}}``."""

    unit_tests: UnitTestsBody

    def check(self) -> Check:
        body = self.unit_tests
        return UnitTests(entry_point=body.entry_point, preamble=body.preamble, tests=body.tests)

    def canned(self) -> None:
        return None


def _check_kind(value: object) -> str | None:
    """Which kind of check a mapping is: the one key that names a kind."""
    kinds = [kind for kind in CHECK_KINDS if isinstance(value, dict) and kind in value]
    return kinds[0] if len(kinds) == 1 else None


CheckRecord = Annotated[
    Annotated[NumberRecord, Tag("number")]
    | Annotated[ExactRecord, Tag("exact")]
    | Annotated[ContainsRecord, Tag("contains")]
    | Annotated[RegexRecord, Tag("regex")]
    | Annotated[ChoiceRecord, Tag("choice")]
    | Annotated[UnitTestsRecord, Tag("unit_tests")],
    Discriminator(
        _check_kind,
        custom_error_type="check_kind",
        custom_error_message=f"must hold exactly one of {', '.join(CHECK_KINDS)}",
    ),
]


class TaskRecord(_Record):
    """One task."""

    id: Annotated[str, Field(max_length=200), AfterValidator(_filled), AfterValidator(_printable)]
    prompt: Text | None = None
    messages: Annotated[list[MessageRecord], Field(min_length=1)] | None = None
    system: Text | None = None
    check: CheckRecord
    canned: CannedRecord | None = None

    @model_validator(mode="after")
    def _one_conversation(self) -> Self:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("must hold either prompt or messages")
        if self.messages:
            if self.messages[-1].role != "user":
                raise ValueError("messages must end with a message of the user")
            if any(message.role == "system" for message in self.messages[1:]):
                raise ValueError("a system message can only be the first of messages")
            if self.system is not None and self.messages[0].role == "system":
                raise ValueError("must hold either system or a system message")
        return self

    def task(self, header: Header) -> Task:
        """The task, with the header's system text and template where the line has none of its own."""
        messages = [Message(role=message.role, content=message.content) for message in self.messages or []]
        if self.prompt is not None:
            template = header.prompt_template or PLACEHOLDER
            messages = [Message(role="user", content=template.replace(PLACEHOLDER, self.prompt))]
        system = self.system or header.system
        if system and messages[0].role != "system":
            messages.insert(0, Message(role="system", content=system))
        canned = self.canned or self.check
        return Task(id=self.id, messages=tuple(messages), check=self.check.check(), canned=canned.canned())
