"""What `lm_eval --log_samples --output_path DIR` writes: samples and, beside them, the results of their run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, Field

from tjbench.errors import UsageError
from tjbench.imports.document import Foreign, content_of, parsed_json, shaped
from tjbench.imports.outcome import FAILED, Choice, Gathered, Outcome, Results, passed_at
from tjbench.suites.task import digest

TOOL = "lm-eval"
_DATED = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl?$")
_PROVIDERS = {
    "openai": "openai",
    "openai-chat-completions": "openai",
    "openai-completions": "openai",
    "anthropic": "anthropic",
    "anthropic-chat": "anthropic",
    "anthropic-chat-completions": "anthropic",
    "anthropic-completions": "anthropic",
}
"""Whose models the harness's own names for its interfaces stand for."""


class _Sample(Foreign):
    doc_id: int | str
    filter: str = "none"
    metrics: tuple[str, ...] = ()
    doc_hash: str | None = None
    prompt_hash: str | None = None
    target_hash: str | None = None


class _Run(Foreign):
    model: Any = None
    model_args: Any = None
    gen_kwargs: Any = None


class _Totals(Foreign):
    results: dict[str, dict[str, Any]]
    configs: dict[str, dict[str, Any]] = Field(default_factory=dict)
    config: _Run = _Run()
    model_source: str | None = None
    model_name: str | None = None
    lm_eval_version: str | None = None
    date: AwareDatetime | None = None


def read(paths: Sequence[Path], choice: Choice) -> Results:
    """Samples files, or results files that stand for all samples beside them. One metric of one filter decides a
    sample: the one chosen (``metric`` or ``metric,filter``), else the first. Tokens and dollars are not kept."""
    found = Gathered()
    for samples, results in _pairs(paths):
        totals = shaped(_Totals, parsed_json(content_of(results), str(results)), str(results), TOOL)
        found.versions.append(totals.lm_eval_version)
        if totals.date is not None:
            found.times.append(totals.date)
        task = _task_of(samples, totals)
        model, forms = _model_of(totals, results)
        found.models.setdefault(model, forms)
        temperature, limit = _sampling(totals, task)
        found.temperatures.append(temperature)
        found.limits.append(limit)
        metrics = _metrics(totals.results.get(task, {}))
        found.outcomes.extend(_outcomes(samples, task, model, choice, metrics, found))
    return found.results()


def _pairs(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Every samples file once, with the results of its run: same directory, same date."""
    named = [path for path in paths if path.suffix == ".jsonl"]
    others = [path for path in paths if path.suffix != ".jsonl"]
    for results in others:
        beside = [path for path in _dated_like(results) if path.suffix == ".jsonl"]
        if not beside and not any(_date(path) == _date(results) for path in named):
            raise UsageError(
                f"{results} has no samples beside it",
                why="pass and fail are kept a sample, in samples_TASK_DATE.jsonl",
                fix="run lm_eval with --log_samples and name those files",
            )
        if not any(path in named for path in beside):
            named += beside
    for samples in dict.fromkeys(named):
        found = [path for path in others if _date(path) == _date(samples)] or [
            path for path in _dated_like(samples) if path.suffix == ".json"
        ]
        beside = [path for path in found if path.parent == samples.parent] or found
        if not beside:
            raise UsageError(
                f"{samples} does not say which model answered",
                why="no results_DATE.json of its run is named or lies beside it",
                fix="name that file too",
            )
        yield samples, beside[0]


def _date(path: Path) -> str | None:
    match = _DATED.search(path.name)
    return match[1] if match else None


def _dated_like(path: Path) -> list[Path]:
    date = _date(path)
    if date is None or not path.parent.is_dir():
        return []
    return sorted(other for other in path.parent.iterdir() if other != path and _date(other) == date)


def _task_of(samples: Path, totals: _Totals) -> str:
    """The file's name holds the task with all but word characters replaced."""
    name = _DATED.sub("", samples.name).removeprefix("samples_").removesuffix(".jsonl")
    return next((task for task in totals.configs if re.sub(r"\W", "_", task) == re.sub(r"\W", "_", name)), name)


def _model_of(totals: _Totals, path: Path) -> tuple[str, tuple[str, ...]]:
    source = totals.model_source or (totals.config.model if isinstance(totals.config.model, str) else "")
    name = _argument(totals.config.model_args) or totals.model_name or path.parent.name
    forms = (f"{_PROVIDERS.get(source, source)}:{name}", f"{source}:{name}")
    return f"{source}:{name}", tuple(dict.fromkeys(forms))


def _argument(arguments: object) -> str | None:
    """The model in ``pretrained=…,dtype=…`` or its mapping."""
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    if not isinstance(arguments, Mapping):
        return None
    return next((str(arguments[key]) for key in ("model", "pretrained", "path", "engine") if arguments.get(key)), None)


def _sampling(totals: _Totals, task: str) -> tuple[float | None, int | None]:
    asked = totals.configs.get(task, {}).get("generation_kwargs")
    settings: dict[str, Any] = {}
    for given in (asked, totals.config.gen_kwargs):
        settings |= given if isinstance(given, dict) else {}
    temperature, limit = settings.get("temperature"), settings.get("max_gen_toks", settings.get("max_tokens"))
    return (
        float(temperature) if isinstance(temperature, int | float) else None,
        limit if isinstance(limit, int) else None,
    )


def _metrics(totals: Mapping[str, Any]) -> tuple[str, ...]:
    """The metrics that a run sums up as ``metric,filter``; older samples do not list their own."""
    names = (key.partition(",")[0] for key in totals if "," in key)
    return tuple(dict.fromkeys(name for name in names if not name.endswith("_stderr")))


def _outcomes(
    samples: Path, task: str, model: str, choice: Choice, metrics: tuple[str, ...], found: Gathered
) -> Iterator[Outcome]:
    metric, _, wanted = (choice.metric or "").partition(",")
    available: dict[str, None] = {}
    kept = 0
    for number, line in enumerate(content_of(samples).split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{samples}, line {number}"
        record = parsed_json(line, where)
        sample = shaped(_Sample, record, where, TOOL)
        names = sample.metrics or metrics
        available |= dict.fromkeys(f"{name},{sample.filter}" for name in names)
        wanted = wanted or sample.filter
        metric = metric or (names[0] if names else "")
        if sample.filter != wanted:
            continue
        if metric not in record:
            raise UsageError(
                f"{where}: no metric {metric!r}",
                why=f"there are {', '.join(available) or 'none'}",
                fix="name one: --metric",
            )
        kept += 1
        passed = passed_at(record[metric], choice, metric, where)
        decided_by = f"{metric},{wanted} {choice.threshold or ''}"
        yield _outcome(sample, passed, decided_by, task, model, where)
    if available and not kept:
        raise UsageError(f"{samples}: no filter {wanted!r}", why=f"there are {', '.join(available)}", fix="--metric")
    others = [name for name in available if name != f"{metric},{wanted}"]
    if others:
        found.notes[f"{task}: metric {metric},{wanted} decides; others: {', '.join(others)}"] = None


def _outcome(sample: _Sample, passed: bool | None, metric: str, task: str, model: str, where: str) -> Outcome:
    return Outcome(
        suite=task,
        model=model,
        task_id=f"{task}/{sample.doc_id}",
        passed=passed,
        cause=None if passed else FAILED if passed is False else "no_score",
        prompt=sample.prompt_hash[:16] if sample.prompt_hash else None,
        check=digest([metric, sample.doc_hash, sample.target_hash]) if sample.target_hash else None,
        where=where,
    )
