"""The derived numbers of an artifact held against its tasks, its rates and its verdict rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose

from pydantic import BaseModel

from tjbench.compare.artifact import UNKNOWN, Artifact, derive
from tjbench.compare.early_stop import follow, stopped_reason
from tjbench.compare.pair import Rule

RELATIVE = 1e-6
_DOLLARS = frozenset({"original_cost_usd", "candidate_cost_usd", "cost_delta_pct"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A field that does not follow from the tasks; ``field`` is its path in the file."""

    field: str
    stored: object
    recomputed: object

    def __str__(self) -> str:
        return f"{self.field}: stored {_shown(self.stored)}, recomputed {_shown(self.recomputed)}"


def contradictions(artifact: Artifact) -> tuple[Mismatch, ...]:
    """Numbers and verdict of ``artifact`` that its tasks do not bear out.

    The sentence that words the verdict is not looked at, so that another release may word it anew. Raises
    ``ValueError`` or ``ArithmeticError`` where its rule or its tasks allow no statistics at all.
    """
    if missing := unpriced(artifact):
        return (Mismatch(field="rates", stored=sorted(artifact.rates), recomputed=missing),)
    stored = artifact.model_dump(mode="json", by_alias=True, exclude={"tasks"})
    return tuple(
        Mismatch(field=name, stored=found(stored, name), recomputed=value)
        for name, value in flat("", rederived(artifact))
        if name != "verdict_reason" and not same(found(stored, name), value)
    )


def unpriced(artifact: Artifact) -> list[str]:
    """Its models without rates, which no artifact lacks: what is unknown says so."""
    return [model for model in (artifact.original_model, artifact.candidate_model) if model not in artifact.rates]


def rederived(artifact: Artifact) -> dict[str, object]:
    """What ``derive`` makes of its tasks; without dollars where another tool stated them and no price is known."""
    rule = Rule(
        margin=artifact.margin_pp / 100,
        alpha=artifact.alpha,
        unscored_tolerance=artifact.unscored_tolerance_pct / 100,
    )
    values = derive(
        artifact.tasks,
        artifact.rates,
        artifact.original_model,
        artifact.candidate_model,
        rule,
        uncontrolled=artifact.uncontrolled,
    )
    if artifact.early_stop:
        values["early_stop"] = follow(artifact, rule, artifact.early_stop.e_needed)
        if artifact.stopped:
            values["verdict_reason"] = stopped_reason(artifact.tasks, artifact.early_stop.n_planned)
    return {name: value for name, value in values.items() if not (name in _DOLLARS and never_priced(artifact))}


def never_priced(artifact: Artifact) -> bool:
    """Whether its dollars are another tool's word, since no model has a price."""
    return all(rates.source == UNKNOWN for rates in artifact.rates.values())


def flat(prefix: str, values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Every leaf with its path; a pair of numbers is one leaf."""
    for name, value in values.items():
        held = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        if isinstance(held, Mapping):
            yield from flat(f"{prefix}{name}.", held)
        else:
            yield f"{prefix}{name}", held


def found(document: object, path: str) -> object:
    """The value at a dotted path; ``None`` where there is none."""
    for part in path.split("."):
        document = document.get(part) if isinstance(document, Mapping) else None
    return document


def same(stored: object, value: object, tolerance: float = 1e-9) -> bool:
    """Whether two leaves agree, numbers to ``RELATIVE`` or ``tolerance``, whichever is wider."""
    if isinstance(stored, bool) or isinstance(value, bool):
        return stored is value
    if isinstance(stored, int | float) and isinstance(value, int | float):
        return isclose(stored, value, rel_tol=RELATIVE, abs_tol=tolerance)
    if isinstance(stored, list | tuple) and isinstance(value, list | tuple):
        return len(stored) == len(value) and all(same(s, v, tolerance) for s, v in zip(stored, value, strict=True))
    return stored == value


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value}"
