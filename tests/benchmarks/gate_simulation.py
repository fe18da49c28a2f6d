"""How often our gate rings falsely, and how often it finds a true drop, beside three others on the same data.

python -m tests.benchmarks.gate_simulation

Prints the tables of docs/statistics.md, seeded, in under two minutes. Our decision is `family_test`, which `tjb gate`
uses; for the first data sets of every setting the whole `decide` is made too, from artifacts, and must agree.
The others judge every row by itself, so their alarms follow exactly from the chance of each (b, c) and their verdict.
The two gates from PyPI are installed in environments of their own and judge by their own functions and default settings
(`gate_peers.py`); which (b, c) fail is found at its bound, for one of them takes half a second a verdict.
The table of early stops is in `early_stop_odds.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import comb, fsum, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks import early_stop_odds
from tests.fakes.artifacts import measurement
from tjbench.compare.artifact import Artifact
from tjbench.compare.decision import BaselineLabel
from tjbench.compare.gate import GatePolicy, decide
from tjbench.compare.matrix import build_matrix
from tjbench.compare.stats import Counts, family_test
from tjbench.errors import ExitCode

SEED = 20260626
SETS = 5_000
DECIDED_SETS = 4
ROWS = (1, 7, 18)
FLIPS = 0.05
PEERS = {"regressgate": "0.1.0", "evalproof": "0.2.1"}
MOST_RECOVERED = {50: 8, 164: 15}
"""More recovered tasks than this have a probability under 0.001 % at ``FLIPS``, and count as no alarm."""

Cell = tuple[int, int]
"""Tasks of one row that broke, and that recovered."""
Verdict = Callable[[Cell], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is true of rows of ``n`` tasks: the first drops by ``first``, the others by ``others`` (shares)."""

    n: int
    truth: str
    first: float = 0.0
    others: float = 0.0


SETTINGS = (
    Setting(n=50, truth="nothing changed"),
    Setting(n=50, truth="one row 20 pp worse", first=0.20),
    Setting(n=50, truth="all rows 5 pp worse", first=0.05, others=0.05),
    Setting(n=164, truth="nothing changed"),
    Setting(n=164, truth="one row 10 pp worse", first=0.10),
    Setting(n=164, truth="all rows 2 pp worse", first=0.02, others=0.02),
)


def chances(n: int, drop: float) -> dict[Cell, float]:
    """The trinomial of (b, c): each task flips with probability ``FLIPS``, either way alike, and breaks with the drop's
    probability besides."""
    breaks, recovers = FLIPS / 2 + drop, FLIPS / 2
    stays = 1 - breaks - recovers
    return {
        (b, c): comb(n, b) * comb(n - b, c) * breaks**b * recovers**c * stays ** (n - b - c)
        for b in range(n + 1)
        for c in range(n + 1 - b)
    }


@cache
def ours(cells: tuple[Cell, ...]) -> bool:
    """Whether our gate fails the job; the order of rows is of no account."""
    return family_test([Counts(*cell) for cell in cells]).alarm


def decided(cells: Sequence[Cell], n: int) -> bool:
    """The same by the whole gate, from artifacts under the default policies."""
    matrix = build_matrix(
        [_artifact(i, "f" * b + "p" * (n - b)) for i, (b, _) in enumerate(cells)],
        [_artifact(i, "p" * b + "f" * c + "p" * (n - b - c)) for i, (b, c) in enumerate(cells)],
        GatePolicy().rule,
    )
    return decide(matrix, GatePolicy(), baseline=BaselineLabel()).exit_code is ExitCode.REGRESSION


def _artifact(row: int, marks: str) -> Artifact:
    return measurement("p" * len(marks), marks, suite=f"row{row}", models=("openai:big", f"openai:small-{row}"))


def our_alarms(setting: Setting) -> tuple[list[float], int]:
    """The share of alarms in ``SETS`` data sets by number of rows, and how many the whole gate decided alike."""
    rng = random.Random(f"{SEED} {setting}")
    others = ROWS[-1] - 1
    first, rest = _draws(rng, setting, setting.first, SETS), _draws(rng, setting, setting.others, SETS * others)
    sets = [(first[i], *rest[i * others : (i + 1) * others]) for i in range(SETS)]
    for rows in ROWS:
        for found in sets[:DECIDED_SETS]:
            if decided(found[:rows], setting.n) != ours(tuple(sorted(found[:rows]))):
                raise SystemExit(f"decide and family_test differ on {found[:rows]} of {setting.n} tasks")
    shares = [sum(ours(tuple(sorted(found[:rows]))) for found in sets) / SETS for rows in ROWS]
    return shares, DECIDED_SETS * len(ROWS)


def _draws(rng: random.Random, setting: Setting, drop: float, count: int) -> list[Cell]:
    table = chances(setting.n, drop)
    return rng.choices(list(table), cum_weights=list(accumulate(table.values())), k=count)


def alarms_by_row(setting: Setting, fails: Verdict) -> list[float]:
    """The exact probability of an alarm by number of rows, for a gate that judges every row by itself."""
    first, others = (
        fsum(chance for cell, chance in chances(setting.n, drop).items() if fails(cell))
        for drop in (setting.first, setting.others)
    )
    return [1 - (1 - first) * (1 - others) ** (rows - 1) for rows in ROWS]


def two_points(n: int) -> Verdict:
    """The older tool: a pass rate 2 points lower is a regression."""
    return lambda cell: 50 * (cell[0] - cell[1]) >= n


def at_bounds(bounds: Sequence[int | None]) -> Verdict:
    """A gate that fails from ``bounds[c]`` broken tasks on."""

    def fails(cell: Cell) -> bool:
        bound = bounds[cell[1]] if cell[1] < len(bounds) else None
        return bound is not None and cell[0] >= bound

    return fails


def install(peer: str, home: Path) -> Path:
    """An interpreter with the published gate and nothing of ours."""
    uv = str(Path(sys.executable).with_name("uv"))
    python = home / peer / "bin/python"
    subprocess.run([uv, "venv", "-q", str(home / peer)], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), f"{peer}=={PEERS[peer]}"], check=True)
    return python


def peer_verdicts(peer: str, home: Path) -> dict[int, Verdict]:
    """A published gate's verdict by number of tasks."""
    asked = json.dumps([[n, most] for n, most in MOST_RECOVERED.items()])
    command = [str(install(peer, home)), str(Path(__file__).with_name("gate_peers.py")), peer]
    ran = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    return dict(zip(MOST_RECOVERED, map(at_bounds, json.loads(ran.stdout)), strict=True))


def table(home: Path) -> str:
    """The whole table as Markdown, with the standard error of its cells."""
    with ThreadPoolExecutor(len(PEERS)) as threads:
        asked = [threads.submit(peer_verdicts, peer, home) for peer in PEERS]
        own = [our_alarms(setting) for setting in SETTINGS]
        others = [{n: two_points(n) for n in MOST_RECOVERED}, *(answer.result() for answer in asked)]
    lines = [
        f"| tasks | truth | rows | `tjb gate` | 2-point rule | {' | '.join(f'{p} {v}' for p, v in PEERS.items())} |",
        "|--:|---|--:|--:|--:|--:|--:|",
    ]
    for setting, (alarms, _) in zip(SETTINGS, own, strict=True):
        exact = [alarms_by_row(setting, verdicts[setting.n]) for verdicts in others]
        for rows, shares in zip(ROWS, zip(alarms, *exact, strict=True), strict=True):
            shown = " | ".join(f"{100 * share:.1f} %" for share in shares)
            lines.append(f"| {setting.n} | {setting.truth} | {rows} | {shown} |")
    worst, small = (100 * sqrt(share * (1 - share) / SETS) for share in (0.5, 0.02))
    checked = sum(count for _, count in own)
    lines += [
        "",
        f"`tjb gate`: {SETS:,} data sets a cell (standard error at most {worst:.1f} points, {small:.1f} at 2 %); the "
        f"others are exact. The family test and the whole gate agree on all {checked} data sets that both judged.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as home:
        print(table(Path(home)))
    print(f"\n{early_stop_odds.table()}")


if __name__ == "__main__":
    main()
