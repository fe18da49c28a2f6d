"""An upgrade check told: a short text for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TextIO

from tjbench.ci import GateResult
from tjbench.compare.map_diff import PriceChange, Recommendation
from tjbench.errors import ExitCode
from tjbench.report.markdown import render_decision
from tjbench.report.units import counted, dollars
from tjbench.upgrade_check import Priced, Repriced, UpgradeCheck, dated_savings, saving_pct
from tjbench.upgrade_lines import summary
from tjbench.upgrade_run import UpgradeRequest, check_upgrade, exit_code, run_pending
from tjbench.workplace import Workplace


def tell_upgrade(
    request: UpgradeRequest, place: Workplace, *, as_json: bool, stdout: TextIO, stderr: TextIO
) -> ExitCode:
    """`tjb upgrade-check`: compare, run what was asked for, and tell."""
    check = check_upgrade(request, place)
    result, calls = None, 0
    if request.run and check.needs_run:
        result, calls = run_pending(check, request, place, stderr)
    code = exit_code(check, request.config, result)
    people = stderr if as_json else stdout
    people.write("\n".join([*summary(check), *_ending(check, result, calls), ""]))
    if result is not None:
        people.write(f"\n{render_decision(result.decision, folded=False).rstrip()}\n")
    if as_json:
        stdout.write(json.dumps(document(check, result, calls, code), indent=1) + "\n")
    return code


def document(check: UpgradeCheck, result: GateResult | None, calls: int, code: ExitCode) -> dict[str, object]:
    """The whole check for programs."""
    moves = [_move(check, found) for found in check.recommendations]
    return {
        "from": check.before.version,
        "to": check.after.version,
        "at": check.after.at.isoformat(),
        "recommendations": {
            "added": [move for move in moves if move["from"] is None],
            "removed": [move for move in moves if move["to"] is None],
            "changed": [move for move in moves if move["from"] is not None and move["to"] is not None],
        },
        "rates": {"changed": [_price(change) for change in check.prices]},
        "dated_savings": [
            {
                "original": original,
                "candidate": candidate,
                "savings": [{"effective": _iso(start), "saving_pct": round(saving, 2)} for start, saving in steps],
            }
            for original, candidate, steps in dated_savings(check.after)
        ],
        "repriced": [_repriced_json(found) for found in check.repriced],
        "needs_run": [
            {
                "suite": pending.key.suite,
                "original": pending.key.original,
                "candidate": pending.candidate,
                "was": pending.was,
            }
            for pending in check.needs_run
        ],
        "withdrawn": [{"suite": key.suite, "original": key.original} for key in check.withdrawn],
        "skipped": dict(check.skipped),
        "provider_calls": calls,
        "cost_usd": result.decision.cost_usd if result else 0.0,
        "decision": result.decision.model_dump(mode="json") if result else None,
        "exit_code": int(code),
    }


def _ending(check: UpgradeCheck, result: GateResult | None, calls: int) -> Iterator[str]:
    if result is not None:
        yield f"{counted(calls, 'call')} to providers, {dollars(result.decision.cost_usd)} spent"
        return
    if not check.needs_run:
        yield "no pair needs a run: 0 calls to providers, $0 spent"
        return
    for pending in check.needs_run:
        was = f"was {pending.was}" if pending.was else "not recommended before"
        yield f"needs a run: {pending.key.suite}, {pending.key.original} → {pending.candidate} ({was})"
    yield "0 calls to providers, $0 spent; --run measures these pairs"


def _move(check: UpgradeCheck, found: Recommendation) -> dict[str, object]:
    savings = (
        saving_pct(check.before, found.original, found.before),
        saving_pct(check.after, found.original, found.after),
    )
    return {
        "original": found.original,
        "from": found.before,
        "to": found.after,
        "from_saving_pct": None if savings[0] is None else round(savings[0], 2),
        "to_saving_pct": None if savings[1] is None else round(savings[1], 2),
        "priced": found.after is None or savings[1] is not None,
    }


def _price(change: PriceChange) -> dict[str, object]:
    provider, _, model = change.model.partition(":")
    return {
        "provider": provider,
        "model": model,
        "field": change.field,
        "from": change.before,
        "to": change.after,
        "effective": _iso(change.effective),
    }


def _repriced_json(found: Repriced) -> dict[str, object]:
    artifact = found.artifact
    return {
        "file": found.file,
        "suite": artifact.suite.name,
        "original": artifact.original_model,
        "candidate": artifact.candidate_model,
        "tokenjam_version": artifact.tokenjam_version,
        "from": _side(found.before),
        "to": _side(found.after),
        "why": found.why,
    }


def _side(side: Priced | None) -> dict[str, object] | None:
    if side is None:
        return None
    return {
        "original_cost_usd": side.original_usd,
        "candidate_cost_usd": side.candidate_usd,
        "cost_delta_pct": None if side.delta_pct is None else round(side.delta_pct, 4),
        "priced_with_defaults": side.guessed,
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
