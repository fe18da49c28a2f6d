"""Logs of Inspect (`inspect eval`), `.eval` and `.json`: https://inspect.aisi.org.uk/eval-logs.html."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from pydantic import AwareDatetime, Field

from tjbench.errors import UsageError
from tjbench.imports.document import Amount, Count, Foreign, content_of, parsed_json, shaped
from tjbench.imports.outcome import FAILED, Choice, Gathered, Outcome, Results, passed_at
from tjbench.suites.task import digest

TOOL = "inspect"
_LETTERS = {"C": 1.0, "I": 0.0, "N": 0.0, "P": 0.5, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's own reading of a score's words (``value_to_float``)."""


class _Usage(Foreign):
    input_tokens: Count = 0
    output_tokens: Count = 0
    input_tokens_cache_read: Count | None = None
    input_tokens_cache_write: Count | None = None
    total_cost: Amount | None = None


class _Score(Foreign):
    value: Any = None
    explanation: str | None = None


class _Sample(Foreign):
    id: int | str
    epoch: int = 1
    input: Any = None
    choices: Any = None
    target: Any = None
    scores: dict[str, _Score] | None = None
    model_usage: dict[str, _Usage] = Field(default_factory=dict)
    error: Any = None
    working_time: Amount | None = None


class _Spec(Foreign):
    task: str
    created: AwareDatetime | None = None
    model: str
    packages: dict[str, str] = Field(default_factory=dict)


class _Sampling(Foreign):
    temperature: float | None = None
    max_tokens: int | None = None


class _Plan(Foreign):
    config: _Sampling = _Sampling()


class _Headline(Foreign):
    score: str | None = None


class _EvalScore(Foreign):
    name: str
    scorer: str = ""


class _Totals(Foreign):
    headline: _Headline | None = None
    scores: tuple[_EvalScore, ...] = ()


class _Header(Foreign):
    status: str
    eval: _Spec
    plan: _Plan = _Plan()
    results: _Totals | None = None


class _Log(_Header):
    samples: list[Any] | None = None


def read(paths: Sequence[Path], choice: Choice) -> Results:
    """One score decides a sample: the one chosen, else the log's headline, else its first. A sample that ended in an
    error or without a score is not judged."""
    found = Gathered()
    for path in paths:
        with _opened(path) as (header, samples):
            _gather(header, samples, path, choice, found)
    return found.results()


def _gather(
    header: _Header, samples: Iterator[tuple[str, object]], path: Path, choice: Choice, found: Gathered
) -> None:
    found.versions.append(header.eval.packages.get("inspect_ai"))
    found.temperatures.append(header.plan.config.temperature)
    found.limits.append(header.plan.config.max_tokens)
    if header.eval.created:
        found.times.append(header.eval.created)
    if header.status != "success":
        found.notes[f"{path.name}: the evaluation ended as {header.status!r}"] = None
    found.models.setdefault(header.eval.model, (header.eval.model.replace("/", ":", 1),))
    metric = choice.metric or _headline(header)
    for where, value in samples:
        sample = shaped(_Sample, value, where, TOOL)
        scores = _flat(sample.scores or {})
        if metric is None and scores:
            metric = next(iter(scores))
        if metric is not None and scores and metric not in scores:
            raise UsageError(f"{where}: no score {metric!r}", why=f"the scores are {', '.join(scores)}", fix="--metric")
        if len(scores) > 1:
            found.notes[f"{header.eval.task}: score {metric} decides; others: {_others(scores, metric)}"] = None
        found.outcomes.append(_outcome(sample, header, metric or "", scores, choice, where))
    graders = {s.name: s.scorer for s in (header.results.scores if header.results else ())}
    if metric and "model_graded" in (metric, graders.get(metric, metric))[-1]:
        found.judges[f"inspect {metric}"] = None


def _headline(header: _Header) -> str | None:
    if header.results is None:
        return None
    if header.results.headline and header.results.headline.score:
        return header.results.headline.score
    return header.results.scores[0].name if header.results.scores else None


def _others(scores: Mapping[str, _Score], metric: str | None) -> str:
    return ", ".join(name for name in scores if name != metric)


def _flat(scores: Mapping[str, _Score]) -> dict[str, _Score]:
    """A score whose value holds several is several: ``scorer/name``."""
    flat: dict[str, _Score] = {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            for part, value in score.value.items():
                flat[f"{name}/{part}"] = _Score(value=value, explanation=score.explanation)
        else:
            flat[name] = score
    return flat


def _outcome(
    sample: _Sample, header: _Header, metric: str, scores: Mapping[str, _Score], choice: Choice, where: str
) -> Outcome:
    usage = sample.model_usage.get(header.eval.model)
    score = scores.get(metric)
    passed, cause, detail = None, "error" if sample.error else "no_score", ""
    if score is not None and not sample.error:
        passed = passed_at(_number(score.value), choice, metric, where)
        cause, detail = ("" if passed else FAILED if passed is False else "no_score"), score.explanation or ""
    elif sample.error:
        message = sample.error.get("message") if isinstance(sample.error, dict) else sample.error
        detail = str(message)
    return Outcome(
        suite=header.eval.task,
        model=header.eval.model,
        task_id=str(sample.id),
        sample=str(sample.epoch),
        passed=passed,
        cause=cause or None,
        detail="" if passed else detail,
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        cache_read_tokens=(usage.input_tokens_cache_read or 0) if usage else 0,
        cache_write_tokens=(usage.input_tokens_cache_write or 0) if usage else 0,
        cost_usd=usage.total_cost if usage else None,
        latency_s=sample.working_time,
        prompt=digest([_text(sample.input), sample.choices]),
        check=digest([metric, sample.target, choice.threshold]),
        where=where,
    )


def _text(value: object) -> object:
    """Messages without the ids that every run gives them anew."""
    if not isinstance(value, list):
        return value
    return [(m.get("role"), m.get("content")) if isinstance(m, dict) else m for m in value]


def _number(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value in _LETTERS or value.lower() in _LETTERS:
        return _LETTERS.get(value, _LETTERS.get(value.lower(), 0.0))
    try:
        return float(value)
    except ValueError:
        return value


# --- the two formats


class _Archive(Protocol):
    """The part of ``zipfile.ZipFile`` that is used."""

    def namelist(self) -> list[str]: ...

    def read(self, name: str) -> bytes: ...


@contextmanager
def _opened(path: Path) -> Iterator[tuple[_Header, Iterator[tuple[str, object]]]]:
    """The header and the samples, each with its place; those of an archive are read one at a time."""
    if path.suffix != ".eval":
        document = parsed_json(content_of(path), str(path))
        log = shaped(_Log, document, str(path), TOOL)
        yield log, ((f"{path}: samples[{i}]", sample) for i, sample in enumerate(log.samples or ()))
        return
    with ExitStack() as stack:
        with _damage_named(path):
            archive = stack.enter_context(_zipfile().ZipFile(path))
        yield shaped(_Header, _header(archive, path), str(path), TOOL), _samples(archive, path)


def _header(archive: _Archive, path: Path) -> object:
    """A log whose run was cut short has no header, only what it began with."""
    names = archive.namelist()
    name = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
    if name is None:
        raise UsageError(f"{path} is not a log of Inspect", why="it holds no header.json")
    found = _member(archive, name, path)
    return {"status": "started", **found} if isinstance(found, dict) else found


def _samples(archive: _Archive, path: Path) -> Iterator[tuple[str, object]]:
    for name in archive.namelist():
        if name.startswith("samples/") and name.endswith(".json"):
            yield f"{path}: {name}", _member(archive, name, path)


def _member(archive: _Archive, name: str, path: Path) -> Any:
    with _damage_named(path):
        content = archive.read(name)
    return parsed_json(content, f"{path}: {name}")


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """An archive that is damaged or none fails in many ways, down in the decompressors."""
    try:
        yield
    except FileNotFoundError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
    except Exception as error:
        raise UsageError(f"{path} is not a log of Inspect", why=f"it cannot be unpacked: {error}"[:300]) from error


def _zipfile() -> ModuleType:
    """The library's own from Python 3.14 on: logs are compressed with Zstandard."""
    return import_module("zipfile" if sys.version_info >= (3, 14) else "backports.zstd.zipfile")
