"""`tjb matrix` over 10,000 artifacts of 164 tasks, beside reading the same files by `json.loads` one at a time.

python -m tests.benchmarks.bench_matrix

Twenty rows measured over and over: a version a week, again each night. Needs 1 GB of disk. Ratios: wall time at most 2
times the peer's, peak memory at most 1.5 times that over 1,000 artifacts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.fakes.artifacts import measurement
from tjbench.store.artifacts import dump

TASKS = 164
ROWS = 20
SUBJECT = (sys.executable, "-c", "from tjbench.cli.main import main; main()", "matrix", "--dir")
PEER = (
    sys.executable,
    "-c",
    "import json, pathlib, sys\nfor path in sorted(pathlib.Path(sys.argv[1]).iterdir()): json.loads(path.read_bytes())",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Wall time in seconds and peak resident memory in MiB of one process."""

    seconds: float
    peak_mib: float


def write(directory: Path, count: int) -> int:
    """``count`` artifacts of ``ROWS`` rows; seven of a row share a version. Gives the bytes of one."""
    rng = Random(20260626)
    for row in range(ROWS):
        marks = ["".join(rng.choices("pf", (9, 1), k=TASKS)) for _ in range(2)]
        text = dump(measurement(*marks, suite=f"suite{row}", models=("openai:big", "openai:small")))
        stamp = measurement("p", "p").created_at
        for step in range(count // ROWS):
            version = f"1.{step // 7}.0"
            one = text.replace(f"{stamp:%Y-%m-%dT%H:%M:%SZ}", f"{stamp + timedelta(days=step):%Y-%m-%dT%H:%M:%SZ}")
            one = one.replace('"tokenjam_version": "0.7.0"', f'"tokenjam_version": "{version}"')
            (directory / f"tjbench_suite{row}_tj{version}_{step:05}.json").write_text(one)
    return len(text)


def run(command: tuple[str, ...], directory: Path) -> Measured:
    """One process to its end."""
    begun = time.monotonic()
    process = subprocess.Popen([*command, str(directory)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Measured(seconds=time.monotonic() - begun, peak_mib=used.ru_maxrss / 1024)


def main() -> int:
    """Print the ratios; 1 where one is above its bound."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with TemporaryDirectory() as scratch:
        few, many = Path(scratch, "few"), Path(scratch, "many")
        few.mkdir()
        many.mkdir()
        write(few, 1_000)
        size = write(many, 10_000)
        run(PEER, many)  # the files are in memory for both
        peer, ours, small = run(PEER, many), run(SUBJECT, many), run(SUBJECT, few)
    wall, memory = ours.seconds / peer.seconds, ours.peak_mib / small.peak_mib
    print(f"10,000 artifacts of {TASKS} tasks, {size / 1e3:.0f} kB each; load {os.getloadavg()[0]:.1f}")
    print(f"json.loads {peer.seconds:.1f} s; tjb matrix {ours.seconds:.1f} s: ratio {wall:.2f} (at most 2)")
    print(f"peak {small.peak_mib:.0f} MiB at 1,000, {ours.peak_mib:.0f} MiB at 10,000: {memory:.2f} (at most 1.5)")
    return int(wall > 2 or memory > 1.5)


if __name__ == "__main__":
    sys.exit(main())
