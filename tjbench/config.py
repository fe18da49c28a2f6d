"""What the user wants: model specs and `tjbench.toml`."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tjbench.errors import UsageError

DEFAULT_ORIGINAL = "anthropic:claude-opus-4-7"


@dataclass(frozen=True, slots=True, order=True)
class ModelSpec:
    """A model as the user writes it, ``provider:model``. Bedrock ids hold more colons, so the first one splits."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        provider, colon, model = text.strip().partition(":")
        if not (colon and provider and model and text.strip().isprintable()):
            raise UsageError(
                f"{text!r} is not a model",
                why="a model is written provider:model",
                fix="write for example anthropic:claude-opus-4-7",
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


def _policies(policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    if Policy.NEVER in policies and len(policies) > 1:
        raise ValueError("'never' stands alone")
    return policies


SpecText = Annotated[str, AfterValidator(_model)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Specs = Annotated[tuple[SpecText, ...], BeforeValidator(_listed), Field(min_length=1)]
Policies = Annotated[tuple[Policy, ...], BeforeValidator(_listed), AfterValidator(_policies)]
Proportion = Annotated[float, Field(gt=0, lt=1)]
Points = Annotated[float, Field(gt=0, lt=100)]


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
    alpha: Proportion = 0.05
    margin_pp: Points = 10.0
    unscored_tolerance_pct: Annotated[float, Field(ge=0, le=100)] = 5.0


class Run(_Table):
    """How the models are called."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    max_cost_usd: Annotated[float, Field(ge=0)] | None = None
    mock: Literal["auto"] | bool = "auto"


class Baseline(_Table):
    """Where the last release's artifacts are."""

    branches: Names | None = None
    dir: str = "results"


class Provider(_Table):
    """An OpenAI-compatible endpoint of the user's own."""

    base_url: str
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*_API_KEY$")] | None = None


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
    providers: dict[str, Provider] = {}
    mock: Mock = Mock()

    @model_validator(mode="after")
    def _rows_differ(self) -> Self:
        seen: set[tuple[str, ModelSpec, str | None]] = set()
        for proof in self.proof:
            for suite, original in proof.combinations():
                row = (suite, original, proof.candidate)
                if row in seen:
                    raise ValueError(f"suite {suite!r} with original {original} stands in two proofs")
                seen.add(row)
        return self

    def with_policy_of(self, base: Config) -> tuple[Config, list[str]]:
        """This configuration under another one's policy, and what was put back.

        A pull request may change what is measured, never how it is judged: ``[gate]``, ``[providers]``,
        ``[baseline]``, caps and each proof's own policy come from ``base``.
        """
        changed = [
            f"[{name}]" for name in ("gate", "providers", "baseline") if getattr(self, name) != getattr(base, name)
        ]
        run = self.run.model_copy(update={"max_cost_usd": base.run.max_cost_usd, "mock": base.run.mock})
        if run != self.run:
            changed.append("[run] max_cost_usd, mock")
        if self.mock != base.mock:
            changed.append("[mock]")
        proofs = tuple(_under_policy(proof, base) for proof in self.proof)
        if proofs != self.proof:
            changed.append("[[proof]] required, margin_pp, fail_on")
        update = {
            "proof": proofs,
            "gate": base.gate,
            "run": run,
            "baseline": base.baseline,
            "providers": base.providers,
            "mock": base.mock,
        }
        return self.model_copy(update=update), changed


def _under_policy(proof: Proof, base: Config) -> Proof:
    judged = {
        (suite, original): (old.required, old.margin_pp, old.fail_on)
        for old in base.proof
        for suite, original in old.combinations()
    }
    default = Proof()
    policies = {judged.get(row, (True, None, None)) for row in proof.combinations()}
    required, margin, fail_on = policies.pop() if len(policies) == 1 else (default.required, None, None)
    return proof.model_copy(update={"required": required, "margin_pp": margin, "fail_on": fail_on})


def parse_config(text: str, name: str) -> Config:
    """Read ``tjbench.toml``. Raises ``UsageError`` naming file, line, key and what is allowed."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise UsageError(f"{name}:{line}: not TOML", why=str(error), fix="see docs/configuration.md") from error
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise _explained(error, text, name) from error


def config_of(tables: Mapping[str, object], prefix: str) -> Config:
    """A configuration from flags (``prefix`` is ``--``) or inputs (``input ``). Raises ``UsageError`` naming it."""
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "value")
        message = str(first["msg"]).removeprefix("Value error, ")
        shown = "" if isinstance(first["input"], Mapping) else f" (got {first['input']!r})"
        raise UsageError(f"{prefix}{key.replace('_', '-')}: {message}{shown}") from error


def _explained(error: ValidationError, text: str, name: str) -> UsageError:
    first = error.errors(include_url=False)[0]
    path = [part for part in first["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
    line = _line_of(text, path)
    where = ".".join(str(part) for part in path) or "the file"
    if first["type"] == "extra_forbidden":
        allowed = _allowed(path)
        close = difflib.get_close_matches(str(path[-1]), allowed, n=1)
        fix = f"did you mean {close[0]!r}? " if close else ""
        return UsageError(f"{name}:{line}: unknown key {where}", why=f"{fix}allowed here: {', '.join(allowed)}")
    message = str(first["msg"]).removeprefix("Value error, ")
    shown = "" if isinstance(first["input"], Mapping) else f" (got {first['input']!r})"
    return UsageError(f"{name}:{line}: {where}: {message}{shown}", fix="see docs/configuration.md")


def _allowed(path: list[int | str]) -> list[str]:
    tables: dict[str, type[BaseModel]] = {
        "proof": Proof,
        "gate": Gate,
        "run": Run,
        "baseline": Baseline,
        "providers": Provider,
        "mock": Mock,
    }
    table = Config if len(path) == 1 else tables[str(path[0])]
    return sorted(table.model_fields)


def _line_of(text: str, path: list[int | str]) -> int:
    """Line (from 1) of the key ``path`` in TOML ``text``; of its table, or 1, where the key itself is not written."""
    if not path:
        return 1
    lines = text.splitlines()
    table, nth = str(path[0]), path[1] if len(path) > 1 and isinstance(path[1], int) else 0
    header = re.compile(rf"\s*\[+\s*{re.escape(table)}\b")
    headers = [number for number, line in enumerate(lines) if header.match(line)]
    start = headers[nth] if nth < len(headers) else 0
    key = next((part for part in reversed(path) if isinstance(part, str)), table)
    pattern = re.compile(rf"\s*\[*\s*(?:[\w-]+\s*\.\s*)*[\"']?{re.escape(key)}\b")
    for number in range(start, len(lines)):
        if pattern.match(lines[number]):
            return number + 1
    return start + 1
