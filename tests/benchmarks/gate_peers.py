"""The decision of another gate for tasks of one sample: run inside that gate's own environment, as published.

``python gate_peers.py NAME`` reads ``[[n, most], ...]`` from stdin and writes, for every c up to ``most``, the least b
of n tasks that fails the build (null: none does). Nothing but the gate's own functions and default settings decide.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module

Decision = Callable[[int, int, int], bool]


def outcomes(b: int, c: int, n: int) -> list[tuple[str, bool, bool]]:
    """Task, passed before, passes now: b broke, c recovered, the rest passes."""
    return [(f"t{i}", not b <= i < b + c, i >= b) for i in range(n)]


def regressgate(b: int, c: int, n: int) -> bool:
    """`regressgate compare base.json head.json`."""
    gate, report = import_module("regressgate.gate"), import_module("regressgate.run_report")

    def run(column: int) -> object:
        return report.RunReport(
            regressgate_version="0",
            created_at="",
            target="",
            repeats=1,
            cases=[
                report.CaseResult(id=row[0], trials=[report.Trial(passed=row[column], latency_s=1)])
                for row in outcomes(b, c, n)
            ],
        )

    return bool(gate.compare_reports(run(1), run(2)).failed)


def evalproof(b: int, c: int, n: int) -> bool:
    """`evalproof compare base.json head.json --gate --metric pass`."""
    compare, models = import_module("evalproof.compare"), import_module("evalproof.models")
    gate, config = import_module("evalproof.gate"), import_module("evalproof.config")
    said = dict.fromkeys(("suite", "system", "dataset_path", "dataset_hash", "started_at", "finished_at"), "")

    def run(column: int) -> object:
        return models.Run(
            info=models.RunInfo(**said, wall_time_s=1, evalproof_version="0", seed=0),
            results=[
                models.CaseResult(
                    case_id=row[0],
                    output=models.SystemOutput(output=""),
                    scores={"pass": models.Score(value=float(row[column]), passed=row[column])},
                )
                for row in outcomes(b, c, n)
            ],
        )

    decision = gate.decide(compare.compare_runs(run(1), run(2)), config.GateConfig(metric="pass"))
    return bool(decision.exit_code == gate.EXIT_REGRESSION)


GATES: dict[str, Decision] = {"regressgate": regressgate, "evalproof": evalproof}


def least_failing(fails: Decision, n: int, c: int, known: int) -> int | None:
    """The least b that fails at c, by steps up from ``known``, its value at one recovered task less.

    One more broken task is never better, and one more recovered never worse.
    """
    for b in range(max(known, c), n - c + 1):
        if fails(b, c, n):
            return b
    return None


def bounds(fails: Decision, n: int, most: int) -> list[int | None]:
    """``least_failing`` for each c from 0 to ``most``."""
    found: list[int | None] = []
    for c in range(most + 1):
        before = found[-1] if found else 0
        found.append(None if before is None else least_failing(fails, n, c, before))
    return found


if __name__ == "__main__":
    json.dump([bounds(GATES[sys.argv[1]], n, most) for n, most in json.load(sys.stdin)], sys.stdout)
