"""What the user wants: model specs and `tjbench.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tjbench.errors import DOCUMENTATION, UsageError
from tjbench.misconfig import Mistake, Path, first_mistake, line_of, suggestion

DEFAULT_ORIGINAL = "anthropic:claude-opus-4-7"
SEE = f"see {DOCUMENTATION}/configuration.md"


@dataclass(frozen=True, slots=True, order=True)
class ModelSpec:
    """A model as the user writes it, ``provider:model``. Bedrock ids hold more colons, so the first one splits."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        provider, colon, model = text.strip().partition(":")
        if not (colon and provider and model and text.strip().isprintable()):
            before, slash, after = text.strip().partition("/")
            example = f"{before}:{after}" if before and slash and after and not colon else ""
            raise UsageError(
                f"{text!r} is not a model",
                why="a model is written provider:model",
                fix=f"write {example}" if example else "write for example anthropic:claude-opus-4-7",
            )
        return cls(provider, model)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class Policy(StrEnum):
    """What may fail a job; ``never`` stands alone."""

    REGRESSION = "regression"
    DOWNSIZE = "downsize"
    SAVINGS = "savings"
    RECOMMENDATION = "recommendation"
    UNSAFE = "unsafe"
    DROPPED = "dropped"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    INCOMPLETE = "incomplete"
    NEVER = "never"


DEFAULT_FAIL_ON = (Policy.REGRESSION, Policy.UNSAFE, Policy.INCOMPLETE)


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _model(text: str) -> str:
    try:
        return str(ModelSpec.parse(text))
    except UsageError as error:
        raise ValueError(f"{error.what}: {error.why}; {error.fix}") from error


def _candidate(text: str) -> str:
    return text if text == "recommended" else _model(text)


def _policies(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    if not policies:
        raise ValueError("names no policy; write 'never' for none")
    if Policy.NEVER in policies and len(policies) > 1:
        raise ValueError("'never' stands alone")
    return policies


SpecText = Annotated[str, AfterValidator(_model)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Specs = Annotated[tuple[SpecText, ...], BeforeValidator(_listed), Field(min_length=1)]
CandidateText = Annotated[str, AfterValidator(_candidate)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Policies = Annotated[tuple[Policy, ...], BeforeValidator(_listed), AfterValidator(_policies)]
Level = Annotated[float, Field(ge=1e-6, lt=1)]
Points = Annotated[float, Field(ge=0.01, lt=100)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Proof(_Table):
    """What to prove: every combination of ``suite`` and ``original``; without ``candidate`` TokenJam recommends."""

    suite: Names = ("samples",)
    original: Specs = (DEFAULT_ORIGINAL,)
    candidate: SpecText | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    samples: Annotated[int, Field(ge=1, le=100)] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    seed: int | None = None
    data: str | None = None
    required: bool = True
    margin_pp: Points | None = None
    fail_on: Policies | None = None

    def combinations(self) -> list[tuple[str, ModelSpec]]:
        """Every (suite, original)."""
        return [(suite, ModelSpec.parse(original)) for suite, original in product(self.suite, self.original)]


class Gate(_Table):
    """When the job fails."""

    fail_on: Policies = DEFAULT_FAIL_ON
    alpha: Level = 0.05
    margin_pp: Points = 10.0
    unscored_tolerance_pct: Annotated[float, Field(ge=0, le=100)] = 5.0
    confirm: bool = False
    early_stop: bool = False


class Accept(_Table):
    """A known regression that fails no job through the day ``until`` in UTC. ``candidate`` is the model it is about, or
    ``recommended``: whatever TokenJam recommends."""

    suite: Annotated[str, Field(min_length=1)]
    original: SpecText
    candidate: CandidateText = "recommended"
    until: Annotated[date, Field(strict=True)]
    reason: Sentence


class Run(_Table):
    """How the models are called."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    max_cost_usd: Annotated[float, Field(ge=0)] | None = None
    deadline_minutes: Annotated[float, Field(gt=0, le=100_000)] | None = None
    allow_unpriced: bool = False
    mock: Literal["auto"] | bool = "auto"
    reuse: Literal["never", "original", "all"] = "original"
    max_age_days: Annotated[float, Field(gt=0, le=36_500)] = 30


class Baseline(_Table):
    """Where the last release's artifacts are."""

    branches: Names | None = None
    dir: str = "results"


class Provider(_Table):
    """An OpenAI-compatible endpoint of the user's own."""

    base_url: str
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*_API_KEY$")] | None = None


class Judge(_Table):
    """The model that grades judged tasks, and the share of full marks at which an answer passes."""

    model: SpecText | None = None
    metric: Literal["rubric"] = "rubric"
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5


class Mock(_Table):
    """Accuracy (proportion) of scripted models by ``provider:model``; ``default`` is for all others."""

    default: Annotated[float, Field(ge=0, le=1)] = 0.95
    accuracy: dict[SpecText, Annotated[float, Field(ge=0, le=1)]] = {}


class Config(_Table):
    """The whole of ``tjbench.toml``; an empty file is the embedded default."""

    proof: Annotated[tuple[Proof, ...], Field(min_length=1)] = (Proof(),)
    gate: Gate = Gate()
    run: Run = Run()
    baseline: Baseline = Baseline()
    judge: Judge = Judge()
    providers: dict[str, Provider] = {}
    mock: Mock = Mock()
    accept: tuple[Accept, ...] = ()
    _dropped: tuple[Proof, ...] = ()

    @property
    def dropped(self) -> tuple[Proof, ...]:
        """Proofs of the base's, a row each, that this configuration no longer holds; known after ``judged_by_base``."""
        return self._dropped

    @model_validator(mode="after")
    def _rows_differ(self) -> Self:
        seen: dict[tuple[str, ModelSpec, str | None], int] = {}
        for index, proof in enumerate(self.proof):
            for suite, original in proof.combinations():
                row = (suite, original, proof.candidate)
                if row in seen:
                    where = "in two proofs" if seen[row] != index else "there twice"
                    what = {"suite": repr(suite), "original": str(original), "where": where, "proof": index}
                    raise PydanticCustomError("twice", "suite {suite} with original {original} stands {where}", what)
                seen[row] = index
        return self

    def with_dropped(self, proofs: tuple[Proof, ...]) -> Config:
        """The same configuration, knowing of ``proofs`` that it does not hold and its base does."""
        copy = self.model_copy()
        copy._dropped = proofs
        return copy


def parse_config(text: str, name: str) -> Config:
    """Read ``tjbench.toml``. Raises ``UsageError`` naming file, line, key and what is allowed."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise UsageError(f"{name}:{line}: not TOML", why=str(error), fix=SEE) from error
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise _explained(first_mistake(error, data), text, name) from error


def config_of(tables: Mapping[str, object], prefix: str) -> Config:
    """A configuration from flags (``prefix`` is ``--``) or inputs (``input ``). Raises ``UsageError`` naming it."""
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        mistake = first_mistake(error, tables)
        key = mistake.key
        if key is None or key == mistake.path[0]:
            raise UsageError(mistake.message) from error
        spelled = _SPELLED.get((prefix, key), key.replace("_", "-"))
        raise UsageError(f"{prefix}{spelled}: {mistake.message}", fix=SEE) from error


_TABLES: dict[str, type[BaseModel]] = {
    "proof": Proof,
    "gate": Gate,
    "run": Run,
    "baseline": Baseline,
    "judge": Judge,
    "providers": Provider,
    "mock": Mock,
    "accept": Accept,
}
_LISTS = {("proof",), ("accept",)}
_SPELLED = {
    ("--", "suite"): "benchmark",
    ("input ", "suite"): "benchmarks",
    ("--", "model"): "judge",
    ("input ", "model"): "judge",
}


def _explained(mistake: Mistake, text: str, name: str) -> UsageError:
    place = f"{name}:{line_of(text, mistake.path)}"
    where = ".".join(str(part) for part in mistake.path if isinstance(part, str))
    if mistake.unknown:
        allowed = _allowed(mistake.path)
        hint = suggestion(str(mistake.path[-1]), allowed)
        return UsageError(f"{place}: unknown key {where}{hint}", why=f"allowed here: {', '.join(allowed)}")
    message = f"is a list of tables: write [[{where}]]" if mistake.path in _LISTS else mistake.message
    return UsageError(f"{place}: {where}: {message}", fix=SEE)


def _allowed(path: Path) -> list[str]:
    table = Config if len(path) == 1 else _TABLES[str(path[0])]
    return sorted(table.model_fields)
