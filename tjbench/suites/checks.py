"""What decides a task, as the user writes it, and the check that it means."""

from __future__ import annotations

import ast
import keyword
import re
from decimal import Context, Decimal
from typing import Annotated, Any, Literal, Self

import regex
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from tjbench.suites.schema import json_text, usable_schema
from tjbench.suites.task import Canned, Check, JsonCheck, JudgedCheck, NumberCheck, TextCheck, UnitTests

Percent = Literal["as_written", "as_fraction"]
CHECK_KINDS = ("number", "exact", "contains", "regex", "choice", "json", "unit_tests", "judged")

_EXACT = Context(prec=250)
_MOST_NESTED = 100
_NUMBER = re.compile(r"[+-]?(?:\d{1,100}(?:\.\d{1,100})?|\.\d{1,100})|[+-]?\d{1,50}/0*[1-9]\d{0,49}", re.ASCII)


def filled(text: str) -> str:
    """``text``, unless it is blank."""
    if not text.strip():
        raise ValueError("must not be blank")
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


def _json_value(value: object) -> object:
    if not isinstance(value, dict | list):
        raise ValueError("must be an object or a list")
    if value == {}:
        raise ValueError("must hold at least one key, for every object holds none")
    if _deeper(value, _MOST_NESTED):
        raise ValueError(f"must not be nested more than {_MOST_NESTED} deep")
    return value


def _deeper(value: object, levels: int) -> bool:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return bool(parts) and (levels == 0 or any(_deeper(part, levels - 1) for part in parts))


def _proportion(value: object) -> object:
    return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


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


Text = Annotated[str, AfterValidator(filled)]
PythonName = Annotated[str, AfterValidator(_python_name)]
PythonTests = Annotated[str, AfterValidator(_python_tests)]


class Record(BaseModel):
    """Strict: an unknown field is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NumberRecord(Record):
    """``{"number": 42}``."""

    number: Annotated[str, BeforeValidator(_number_literal)]
    percent: Percent | None = None

    def check(self) -> Check:
        return NumberCheck(expected=self.number, percent=self.percent or "as_written")

    def canned(self) -> Canned:
        over, slash, under = self.number.partition("/")
        wrong = f"{int(over) + int(under)}/{under}" if slash else format(_EXACT.add(Decimal(over), Decimal(1)), "f")
        return Canned(right=self.number, wrong=wrong)


class ExactRecord(Record):
    """``{"exact": "Paris"}``."""

    exact: Text
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="exact", expected=self.exact, case_sensitive=self.case_sensitive)

    def canned(self) -> Canned:
        return Canned(right=self.exact, wrong=f"not {self.exact}")


class ContainsRecord(Record):
    """``{"contains": "Paris"}``."""

    contains: Text
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="contains", expected=self.contains, case_sensitive=self.case_sensitive)

    def canned(self) -> Canned:
        return Canned(right=self.contains, wrong="no" if self.contains.strip() == "?" else "?")


class RegexRecord(Record):
    """``{"regex": "..."}``."""

    regex: Annotated[str, Field(max_length=2000), AfterValidator(filled), AfterValidator(_pattern)]
    case_sensitive: bool = False

    def check(self) -> Check:
        return TextCheck(kind="regex", expected=self.regex, case_sensitive=self.case_sensitive)

    def canned(self) -> None:
        return None


class ChoiceRecord(Record):
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


class JsonBody(Record):
    """What the answer's JSON must hold, or the schema it must conform to."""

    subset: Annotated[Any, BeforeValidator(_json_value)] = None
    schema_: Annotated[Any, Field(alias="schema"), BeforeValidator(usable_schema)] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.subset is None) == (self.schema_ is None):
            raise ValueError("must hold either subset or schema")
        return self


class JsonRecord(Record):
    """``{"json": {"subset": {"city": "Oslo"}}}``."""

    json_: Annotated[JsonBody, Field(alias="json")]

    def check(self) -> Check:
        body = self.json_
        if body.subset is not None:
            return JsonCheck(mode="subset", expected=json_text(body.subset))
        return JsonCheck(mode="schema", expected=json_text(body.schema_))

    def canned(self) -> Canned | None:
        subset = self.json_.subset
        if subset is None:
            return None
        return Canned(right=json_text(subset), wrong="{}" if isinstance(subset, dict) else "[]" if subset else "[0]")


class UnitTestsBody(Record):
    """The function asked for and the code that decides."""

    entry_point: PythonName
    tests: PythonTests
    preamble: str = ""
    shared: bool = False


class UnitTestsRecord(Record):
    """``{"unit_tests": {...}}``."""

    unit_tests: UnitTestsBody

    def check(self) -> Check:
        body = self.unit_tests
        return UnitTests(
            entry_point=body.entry_point,
            preamble=body.preamble,
            tests=body.tests,
            kind="shared_unit_tests" if body.shared else "unit_tests",
        )

    def canned(self) -> None:
        return None


class JudgedBody(Record):
    """What a judge model goes by."""

    criteria: Text
    reference: Text | None = None
    threshold: Annotated[float, Field(gt=0, le=1), BeforeValidator(_proportion)] | None = None


class JudgedRecord(Record):
    """``{"judged": {"criteria": "..."}}``."""

    judged: JudgedBody

    def check(self) -> Check:
        body = self.judged
        return JudgedCheck(criteria=body.criteria, reference=body.reference, threshold=body.threshold)

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
    | Annotated[JsonRecord, Tag("json")]
    | Annotated[UnitTestsRecord, Tag("unit_tests")]
    | Annotated[JudgedRecord, Tag("judged")],
    Discriminator(
        _check_kind,
        custom_error_type="check_kind",
        custom_error_message=f"must hold exactly one of {', '.join(CHECK_KINDS)}",
    ),
]
