"""How often one row stops early or fails, and how many of its tasks that takes, with early stops and without.

python -m tests.benchmarks.early_stop_odds

Exact, by walking every (b, c) a row can reach task by task; what is less likely than ``LEAST`` is left out, and no cell
loses more than the table says. The bound at which a walk stops is held against `Prefix`, which a run uses, on seeded
rows. A row fails as the gate has it without a baseline: by a verdict of its own that the one-sided test at alpha bears
out, and with early stops by its evidence, or by that verdict and the test at alpha / 2.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from tests.fakes.artifacts import trial
from tjbench.compare.early_stop import Prefix, evidence_needed
from tjbench.compare.pair import Pair, Rule
from tjbench.compare.stats import MIN_TASKS, Verdict, e_value, mcnemar_exact, mcnemar_one_sided, verdict
from tjbench.report.units import signed

SEED = 20260626
RULE = Rule()
LEAST = 1e-9
CHECKED = 100
TASKS = (50, 164, 500)
TRUTHS = (
    ("nothing changed, 4 % flip", 0.04, 0.0),
    ("nothing changed, 10 % flip", 0.10, 0.0),
    ("10 pp worse, 4 % flip", 0.04, 0.10),
    ("34 pp worse, 4 % flip", 0.04, 0.34),
)
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """Of one row: the chance that it stops early, that it fails, and the mean number of tasks used; and of the same row
    without early stops the chance that it fails. ``lost`` is the chance of what was left out."""

    stops: float
    fails: float
    used: float
    fails_whole: float
    lost: float


@cache
def suffices(b: int, c: int, n: int) -> bool:
    """Whether a row of one stops at its ``n``-th task."""
    return e_value(b, c) >= evidence_needed(1, RULE.alpha) and is_worse(b, c, n)


def is_worse(b: int, c: int, n: int) -> bool:
    """Whether the verdict on ``n`` tasks is a regression."""
    return n >= MIN_TASKS and b > c and mcnemar_exact(b, c) < RULE.alpha


def odds(n: int, flips: float, drop: float, *, early: bool = True) -> Odds:
    """A task flips with probability ``flips``, either way alike, and breaks with that of the ``drop`` besides."""
    breaks, recovers = flips / 2 + drop, flips / 2
    going: dict[Cell, float] = {(0, 0): 1.0}
    stopped = used = lost = 0.0
    for task in range(1, n + 1):
        after: dict[Cell, float] = defaultdict(float)
        for (b, c), chance in going.items():
            after[b + 1, c] += chance * breaks
            after[b, c + 1] += chance * recovers
            after[b, c] += chance * (1 - breaks - recovers)
        going = {}
        for (b, c), chance in after.items():
            if early and suffices(b, c, task):
                stopped, used = stopped + chance, used + chance * task
            elif chance < LEAST:
                lost += chance
            else:
                going[b, c] = chance
    level = RULE.alpha / 2 if early else RULE.alpha
    late = sum(chance for (b, c), chance in going.items() if is_worse(b, c, n) and mcnemar_one_sided(b, c) <= level)
    whole = odds(n, flips, drop, early=False).fails if early else late
    return Odds(stops=stopped, fails=stopped + late, used=used + n * sum(going.values()), fails_whole=whole, lost=lost)


def check(n: int, flips: float, drop: float) -> None:
    """Raises ``SystemExit`` where a run would stop a seeded row elsewhere than the walk does."""
    rng = random.Random(f"{SEED} {n} {flips} {drop}")
    breaks, recovers = flips / 2 + drop, flips / 2
    for _ in range(CHECKED):
        prefix = Prefix(RULE, evidence_needed(1, RULE.alpha))
        b = c = 0
        for task in range(1, n + 1):
            draw = rng.random()
            broke, recovered = draw < breaks, breaks <= draw < breaks + recovers
            b, c = b + broke, c + recovered
            before, after = ("p", "f") if broke else ("f", "p") if recovered else ("p", "p")
            stops = prefix.add(Pair(task_id=str(task), before=trial(before), after=trial(after)))
            if stops != suffices(b, c, task):
                raise SystemExit(f"the walk and a run differ at {b} broken, {c} recovered of {task} tasks")
            if stops:
                break
        if (verdict(b, c, task) is Verdict.SIGNIFICANT_REGRESSION) < suffices(b, c, task):
            raise SystemExit("a row stopped without a verdict")


def table() -> str:
    """The whole table as Markdown."""
    lines = [
        "| tasks | truth | stops early | fails | mean tasks used | without: fails |",
        "|--:|---|--:|--:|--:|--:|",
    ]
    lost = 0.0
    for n in TASKS:
        for truth, flips, drop in TRUTHS:
            check(n, flips, drop)
            found = odds(n, flips, drop)
            lost = max(lost, found.lost)
            shares = " | ".join(f"{100 * share:.1f} %" for share in (found.stops, found.fails))
            spared = round(100 * (1 - found.used / n))
            saved = f"{found.used:.1f}" + (f" ({signed(-spared, 0)} %)" if spared else "")
            lines.append(f"| {n} | {truth} | {shares} | {saved} | {100 * found.fails_whole:.1f} % |")
    rows = CHECKED * len(TASKS) * len(TRUTHS)
    lines += ["", f"Exact but for a chance of {lost:.0e} at most; {rows:,} seeded rows stop where the walk says."]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
