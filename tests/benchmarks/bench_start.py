"""How long ``tjb --help`` takes beside ``python -c 'import typer'``, which any command built on it takes.

``python -m tests.benchmarks.bench_start [--rounds N]`` runs both and the commands' own help by turns, each in a new
process, prints the best of N and their ratios, and exits 1 where ``tjb --help`` takes more than 1.5 times as long.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MOST = 1.5
PEER = "python -c 'import typer'"
TJB = str(Path(sys.executable).parent / "tjb")
COMMANDS: dict[str, Sequence[str]] = {
    "python -c ''": (sys.executable, "-c", ""),
    PEER: (sys.executable, "-c", "import typer"),
    "tjb --help": (TJB, "--help"),
    "tjb --version": (TJB, "--version"),
    "tjb run --help": (TJB, "run", "--help"),
    "tjb ci --help": (TJB, "ci", "--help"),
}


def seconds(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(rounds + 1):  # what the first round reads from the disk the others find in memory
        for name, command in COMMANDS.items():
            best[name] = min(best[name], seconds(command))
    print(f"| best of {rounds}, by turns | ms | times {PEER} |\n|---|---|---|")
    for name, took in best.items():
        print(f"| {name} | {1000 * took:.0f} | {took / best[PEER]:.2f} |")
    ratio = best["tjb --help"] / best[PEER]
    print(f"tjb --help takes {ratio:.2f} times as long as {PEER} (at most {MOST})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
