"""Result files as other tools write them today, made of marks: ``p`` passed, ``f`` failed, ``u`` was not judged."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODELS = ("openai:big", "openai:small")
ARCHIVE: Any = importlib.import_module("zipfile" if sys.version_info >= (3, 14) else "backports.zstd.zipfile")
DATE = "2026-03-04T05-06-07.890123"


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def csv_text(marks: Mapping[str, str], columns: str = "", cells: str = "") -> str:
    """A line a task for each model; ``columns`` and ``cells`` are added to every line."""
    words = {"p": "true", "f": "false", "u": ""}
    lines = [f"t{i},{model},{words[mark]}{cells}" for model, found in marks.items() for i, mark in enumerate(found)]
    return "\n".join([f"task_id,model,passed{columns}", *lines, ""])


# --- promptfoo 0.121, results version 3


def promptfoo(marks: Mapping[str, str], *, repeat: int = 1, **changes: Any) -> dict[str, Any]:
    """``marks`` by provider id; a mark is one of ``repeat`` samples of a test."""
    results = [
        promptfoo_result(provider, index, mark, test=index // repeat)
        for index in range(len(next(iter(marks.values()))))
        for provider, found in marks.items()
        for mark in [found[index]]
    ]
    return {
        "evalId": "eval-x",
        "results": {
            "version": 3,
            "timestamp": "2026-03-04T05:06:07.890Z",
            "prompts": [{"raw": "What is {{q}}?", "label": "What is {{q}}?", "provider": name} for name in marks],
            "results": results,
            "stats": {"successes": 1, "failures": 1, "errors": 0},
        },
        "config": {"description": "sums", "providers": list(marks)},
        "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.121.20", "nodeVersion": "v20.0.0"},
        "runtimeOptions": {"repeat": repeat, "cache": True},
        **changes,
    }


def promptfoo_result(provider: str, index: int, mark: str, *, test: int, **changes: Any) -> dict[str, Any]:
    tokens = {"prompt": 0 if mark == "u" else 10, "completion": 0 if mark == "u" else 4, "total": 14, "numRequests": 1}
    return {
        "cost": 0 if mark == "u" else 0.002,
        "error": {"p": None, "f": 'Expected output to equal "2"', "u": "API error: 500"}[mark],
        "failureReason": {"p": 0, "f": 1, "u": 2}[mark],
        "gradingResult": {"pass": mark == "p", "score": int(mark == "p"), "reason": "x"},
        "id": f"{provider}-{index}",
        "latencyMs": 1500,
        "prompt": {"raw": f"What is {test}+{test}?", "label": "What is {{q}}?"},
        "promptIdx": 0,
        "provider": {"id": provider, "label": ""},
        "response": {"output": "2", "tokenUsage": tokens, "cached": False},
        "score": int(mark == "p"),
        "success": mark == "p",
        "testCase": {
            "vars": {"q": f"{test}+{test}"},
            "assert": [{"type": "equals", "value": str(2 * test)}],
            "options": {},
            "metadata": {},
        },
        "testIdx": index,
        "vars": {"q": f"{test}+{test}"},
        **changes,
    }


# --- Inspect 0.3


def inspect_header(model: str = "openai/big", **changes: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "sums",
            "created": "2026-03-04T05:06:07+00:00",
            "model": model,
            "packages": {"inspect_ai": "0.3.285"},
        },
        "plan": {"name": "plan", "steps": [], "config": {"max_tokens": 77, "temperature": 0.5}},
        "results": {
            "total_samples": 3,
            "completed_samples": 3,
            "scores": [{"name": "match", "scorer": "match"}, {"name": "includes", "scorer": "includes"}],
            "headline": {"scorer": "match", "score": "match", "metric": "accuracy"},
        },
        "stats": {},
        **changes,
    }


def inspect_sample(index: int, mark: str, model: str = "openai/big", epoch: int = 1, **changes: Any) -> dict[str, Any]:
    value = "C" if mark == "p" else "I"
    sample = {
        "id": f"s{index}",
        "epoch": epoch,
        "input": f"{index}+{index}?",
        "target": str(2 * index),
        "messages": [],
        "scores": {
            "match": {"value": value, "answer": "2", "explanation": "two"},
            "includes": {"value": "C", "answer": "2"},
        },
        "model_usage": {
            model: {
                "input_tokens": 10,
                "output_tokens": 4,
                "total_tokens": 19,
                "input_tokens_cache_read": 5,
                "reasoning_tokens": 1,
            },
            "openai/judge": {"input_tokens": 900, "output_tokens": 900, "total_tokens": 1800},
        },
        "total_time": 3.0,
        "working_time": 1.5,
        **changes,
    }
    if mark == "u":
        sample |= {"error": {"message": "connection lost", "traceback": "..."}, "scores": None, "model_usage": {}}
    return sample


def inspect_json(marks: str, model: str = "openai/big") -> dict[str, Any]:
    samples = [inspect_sample(i, mark, model) for i, mark in enumerate(marks)]
    return {**inspect_header(model), "samples": samples}


def inspect_eval(path: Path, header: dict[str, Any] | None, samples: list[dict[str, Any]]) -> Path:
    """An archive compressed with Zstandard, as Inspect writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ARCHIVE.ZipFile(path, "w", compression=93) as archive:
        start = inspect_header()
        archive.writestr("_journal/start.json", json.dumps({key: start[key] for key in ("version", "eval", "plan")}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("summaries.json", "[]")
        if header is not None:
            archive.writestr("header.json", json.dumps(header))
    return path


# --- lm-eval 0.4.13


def lm_eval(
    directory: Path, marks: str, *, model: str = "big", source: str = "openai-chat-completions", task: str = "sums"
) -> tuple[Path, Path]:
    """Samples of one task under two filters, of which the second passes all, and the results of their run."""
    lines = [
        json.dumps(lm_eval_sample(i, float(mark == "p" or name == "loose"), name))
        for name in ("strict", "loose")
        for i, mark in enumerate(marks)
    ]
    results = {
        "results": {task: {"name": task, "alias": task, "exact_match,strict": 0.5, "exact_match_stderr,strict": 0.1}},
        "configs": {task: {"task": task, "generation_kwargs": {"temperature": 0.0, "max_gen_toks": 256}}},
        "config": {"model": source, "model_args": {"model": model}, "gen_kwargs": {}},
        "date": 1772600767.89,
        "lm_eval_version": "0.4.13",
        "model_source": source,
        "model_name": model,
        "model_name_sanitized": model,
    }
    folder = directory / model
    return (
        write(folder / f"samples_{task}_{DATE}.jsonl", "\n".join(lines) + "\n"),
        write(folder / f"results_{DATE}.json", results),
    )


def lm_eval_sample(index: int, value: object, name: str = "strict", **changes: Any) -> dict[str, Any]:
    return {
        "doc_id": index,
        "doc": {"q": f"{index}+{index}?"},
        "target": str(2 * index),
        "arguments": {"gen_args_0": {"arg_0": f"Q: {index}+{index}?", "arg_1": {}}},
        "resps": [["2"]],
        "filtered_resps": ["2"],
        "filter": name,
        "metrics": ["exact_match"],
        "doc_hash": f"{index:064x}",
        "prompt_hash": f"{index + 16:064x}",
        "target_hash": f"{index + 32:064x}",
        "exact_match": value,
        **changes,
    }


# --- DeepEval 4


def deepeval(marks: str, model: str | None = "openai:big", **changes: Any) -> dict[str, Any]:
    return {
        "testCases": [deepeval_case(i, mark) for i, mark in enumerate(marks)],
        "conversationalTestCases": [],
        "metricsScores": [],
        "hyperparameters": {"model": model, "temperature": "0.5"} if model else None,
        "prompts": [],
        "testPassed": marks.count("p"),
        "testFailed": len(marks) - marks.count("p"),
        "runDuration": 0.1,
        **changes,
    }


def deepeval_case(index: int, mark: str, **changes: Any) -> dict[str, Any]:
    metric = {"name": "Correctness", "threshold": 0.5, "flaky": False, "evaluationModel": "gpt-4.1"}
    metric |= {
        "p": {"success": True, "score": 0.9, "reason": "right"},
        "f": {"success": False, "score": 0.1, "reason": "wrong"},
        "u": {"success": False, "error": "RuntimeError: judge down"},
    }[mark]
    return {
        "name": f"sum-{index}",
        "input": f"{index}+{index}",
        "actualOutput": "2",
        "expectedOutput": str(2 * index),
        "tokenCost": 0.003,
        "completionTime": 1.5,
        "success": mark == "p",
        "metricsData": [metric],
        "order": index,
        **changes,
    }
