"""Flags and action inputs laid over the configuration file: flag > input > file > default."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tjbench.config import Config, config_of

_RUN = ("mock", "reuse", "max_cost_usd", "deadline_minutes", "allow_unpriced", "concurrency")
_GATE = ("fail_on", "alpha", "margin_pp", "confirm", "early_stop")
_JUDGE = {"judge": "model"}
_PROOF = ("limit", "samples", "data")
_ROW = {"benchmarks": "suite", "original": "original", "candidate": "candidate"}


def gate_config(*, fail_on: str | None, alpha: float | None, margin_pp: float | None) -> Config:
    """The default configuration under the gate flags."""
    return overridden(Config(), {"fail_on": fail_on, "alpha": alpha, "margin_pp": margin_pp}, "--")


def overridden(config: Config, given: Mapping[str, object], prefix: str) -> Config:
    """``config`` with every value of ``given`` that is not None. ``fail_on``, ``benchmarks``, ``original`` and
    ``candidate`` may be lists by comma or newline; policies and a margin given here hold for every proof.

    Values of ``benchmarks``, ``original`` or ``candidate`` make one proof of their own in place of the file's.
    Raises ``UsageError`` naming the value, spelled with ``prefix`` (``--`` or ``input ``).
    """
    values = {key: value for key, value in given.items() if value is not None}
    tables = config.model_dump(mode="python", exclude_defaults=True)
    tables["run"] = {**config.run.model_dump(), **_picked(values, _RUN)}
    gate = _picked(values, _GATE)
    if isinstance(gate.get("fail_on"), str):
        gate["fail_on"] = split_list(str(gate["fail_on"]))
    tables["gate"] = {**config.gate.model_dump(), **gate}
    tables["judge"] = {**config.judge.model_dump(), **{_JUDGE[key]: values[key] for key in _JUDGE if key in values}}
    proofs = [proof.model_dump(exclude_defaults=True) for proof in config.proof]
    row = {_ROW[key]: value for key, value in values.items() if key in _ROW}
    if row:
        proofs = _own_proofs(proofs, row)
    for proof in proofs:
        proof |= _picked(values, _PROOF)
        for key in ("margin_pp", "fail_on"):
            if key in values:
                proof.pop(key, None)
    tables["proof"] = proofs
    return config_of(tables, prefix)


def split_list(text: str) -> list[str]:
    """Items by comma or newline, without empty ones."""
    return [item.strip() for item in re.split(r"[,\n]", text) if item.strip()]


def _own_proofs(proofs: list[dict[str, object]], row: dict[str, object]) -> list[dict[str, object]]:
    rest = proofs[0] if len(proofs) == 1 else {}
    lists = {key: split_list(str(value)) for key, value in row.items()}
    candidates = lists.pop("candidate", None)
    base = {**rest, **lists}
    if candidates is None:
        return [base]
    originals = lists.get("original")
    if originals is not None and len(originals) == len(candidates):
        pairs = zip(originals, candidates, strict=True)
        return [{**base, "original": [first], "candidate": second} for first, second in pairs]
    return [{**base, "candidate": candidate} for candidate in candidates]


def _picked(values: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: values[name] for name in names if name in values}
