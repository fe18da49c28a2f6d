"""The shards of a run put together: the measurement that one machine would have made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tjbench.compare.artifact import Artifact, RowKey, ShardRecord, TaskRecord, derive
from tjbench.compare.pair import Rule
from tjbench.errors import IncompleteError, UsageError
from tjbench.measured import NO_SANDBOX
from tjbench.pricing import Rates
from tjbench.store.artifacts import read_parts, require_directory, write_artifact
from tjbench.store.transcripts import read_lines, write_lines
from tjbench.suites.task import digest
from tjbench.verify import current_flags

AGREED = (
    "bench_version",
    "tokenjam_version",
    "commit",
    "original_model",
    "candidate_model",
    "slot",
    "recommended_by",
    "seed",
    "scorer_version",
    "mock",
    "priced_with_defaults",
    "claimed_saving_pct",
    "margin_pp",
    "alpha",
    "unscored_tolerance_pct",
)
"""What every shard of a row must say alike."""
_SEVERAL = "the shards are not of one run"
_ONE_RUN = "measure all shards of a row in one run, and merge those only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The measurements of a split run by path, what its shards spent in all, and files that were no shards with why."""

    artifacts: Mapping[Path, Artifact]
    spent_usd: float
    skipped: Mapping[Path, str]


def merge_shards(paths: Sequence[Path], out: Path) -> Merged:
    """Write one artifact a row into ``out``, each with the transcripts of its shards where all have theirs.

    Raises ``UsageError`` where shards do not belong together, and ``IncompleteError`` where some are missing; nothing
    is written then.
    """
    require_directory(out)
    parts, skipped = read_parts(paths)
    if not parts:
        seen = "; ".join(f"{path.name}: {why}" for path, why in skipped.items())
        raise IncompleteError(
            f"there is no shard in {', '.join(map(str, paths))}",
            why=seen,
            fix="the jobs that measure have to upload results/tjbench_*.json, and this one to download them",
        )
    rows: dict[RowKey, dict[Path, Artifact]] = defaultdict(dict)
    for path, part in parts.items():
        rows[part.key][path] = part
    wholes = [(merge_row(row), row) for _, row in sorted(rows.items())]
    _require_same_shards(rows)
    written = {}
    for whole, row in wholes:
        path = write_artifact(whole, out)
        written[path] = whole
        lines = [read_lines(part) for part in row]
        if all(found is not None for found in lines):
            write_lines(_in_order(whole, [line for found in lines for line in found or ()]), path)
    return Merged(artifacts=written, spent_usd=_spent(parts.values()), skipped=skipped)


def merge_row(parts: Mapping[Path, Artifact]) -> Artifact:
    """One row from its shards, with every number derived anew. Times and prices are those of the last shard.

    Raises ``UsageError`` naming the file where two do not belong together or a shard is there twice, and
    ``IncompleteError`` where one is missing.
    """
    shards = _by_index(parts)
    first_path, first = next(iter(shards.values()))
    for path, part in shards.values():
        if differs := _difference(first, part):
            raise UsageError(f"{path} does not belong to {first_path.name}", why=f"{_SEVERAL}: {differs}", fix=_ONE_RUN)
    assert first.shard is not None
    title = f"{first.suite.name}, {first.original_model} → {first.candidate_model}"
    missing = [str(index) for index in range(1, first.shard.count + 1) if index not in shards]
    if missing:
        raise IncompleteError(
            f"{title}: shard {', '.join(missing)} of {first.shard.count} is missing",
            why="the job that measures it ended without a result, or its artifact was not downloaded",
            fix="run the failed jobs again, then this one",
        )
    found = [part for _, (_, part) in sorted(shards.items())]
    tasks = _interleaved([part.tasks for part in found])
    revisions = _revisions(tasks)
    if (len(tasks), *revisions) != (first.shard.n_tasks, first.shard.prompts_revision, first.shard.checks_revision):
        raise UsageError(
            f"{title}: its shards do not make the whole",
            why=f"{len(tasks)} tasks are there, and the suite's {first.shard.n_tasks} are not these in this order",
            fix=_ONE_RUN,
        )
    last = max(found, key=lambda part: part.created_at)
    return _whole(last, found, tasks)


def _by_index(parts: Mapping[Path, Artifact]) -> dict[int, tuple[Path, Artifact]]:
    shards: dict[int, tuple[Path, Artifact]] = {}
    for path, part in parts.items():
        assert part.shard is not None
        taken = shards.setdefault(part.shard.index, (path, part))
        if taken[0] != path:
            raise UsageError(
                f"{path} is shard {part.shard.index} of {part.shard.count} of {part.suite.name} once more",
                why=f"{taken[0]} is that shard too, and nobody but you can say which counts",
                fix="remove one of them",
            )
    return shards


def _difference(first: Artifact, part: Artifact) -> str:
    """What the two say otherwise of the run that they are shards of; empty where nothing."""
    assert first.shard is not None
    assert part.shard is not None
    pairs = [(name.replace("_", " "), getattr(first, name), getattr(part, name)) for name in AGREED]
    pairs += [
        ("number of shards", first.shard.count, part.shard.count),
        ("suite", _of_suite(first), _of_suite(part)),
        ("samples", first.sampling.samples, part.sampling.samples),
        ("temperature", first.sampling.temperature, part.sampling.temperature),
        ("max tokens", first.sampling.max_tokens, part.sampling.max_tokens),
        ("rates", _prices(first.rates), _prices(part.rates)),
    ]
    pairs += [
        (f"what was sent to {model}", sent, part.sampling.sent[model])
        for model, sent in first.sampling.sent.items()
        if model in part.sampling.sent
    ]
    if first.judge and part.judge:
        pairs.append(("judge", first.judge, part.judge))
    if not {first.sandbox_level, part.sandbox_level} & {NO_SANDBOX}:
        pairs.append(("sandbox level", _level(first), _level(part)))
    return "; ".join(f"{name} {one} and {other}" for name, one, other in pairs if one != other)


def _of_suite(part: Artifact) -> tuple[object, ...]:
    shard = part.shard
    assert shard is not None
    return (part.suite.n_available, shard.n_tasks, shard.prompts_revision, shard.checks_revision)


def _prices(rates: Mapping[str, Rates]) -> dict[str, tuple[object, ...]]:
    """All but the instant that they were asked for, which is each shard's own."""
    return {m: (r.input, r.output, r.cache_read, r.cache_write, r.source) for m, r in rates.items()}


def _level(part: Artifact) -> str:
    """The level itself; whether tests share an interpreter depends on a shard's tasks."""
    return part.sandbox_level.partition(",")[0]


def _interleaved(shards: Sequence[Sequence[TaskRecord]]) -> list[TaskRecord]:
    """Every shard took each n-th task, so the whole's order takes one of each in turn."""
    longest = max(len(tasks) for tasks in shards)
    return [tasks[turn] for turn in range(longest) for tasks in shards if turn < len(tasks)]


def _revisions(tasks: Sequence[TaskRecord]) -> tuple[str, str]:
    return (
        digest([[task.task_id, task.prompt_hash] for task in tasks]),
        digest([[task.task_id, task.check_hash] for task in tasks]),
    )


def _whole(last: Artifact, shards: Sequence[Artifact], tasks: Sequence[TaskRecord]) -> Artifact:
    rule = Rule(margin=last.margin_pp / 100, alpha=last.alpha, unscored_tolerance=last.unscored_tolerance_pct / 100)
    prompts, checks = _revisions(tasks)
    sent = {model: values for part in shards for model, values in part.sampling.sent.items()}
    whole = last.model_copy(
        update={
            "suite": last.suite.model_copy(update={"prompts_revision": prompts, "checks_revision": checks}),
            "sampling": last.sampling.model_copy(update={"sent": sent}),
            "sandbox_level": max((part.sandbox_level for part in shards), key=lambda s: (s != NO_SANDBOX, len(s))),
            "judge": next((part.judge for part in shards if part.judge), None),
            "shard": None,
            "tasks": tuple(tasks),
            **derive(tasks, last.rates, last.original_model, last.candidate_model, rule),
        }
    )
    return whole.model_copy(update={"flags": current_flags(whole)})


def _require_same_shards(rows: Mapping[RowKey, Mapping[Path, Artifact]]) -> None:
    """All rows of a run are split alike, by the same tokenjam, from the same commit."""
    seen = {key: next(iter(row.items())) for key, row in rows.items()}
    first_path, first = next(iter(seen.values()))
    for path, part in seen.values():
        for name in ("tokenjam_version", "bench_version", "commit", "mock"):
            one, other = getattr(first, name), getattr(part, name)
            if one != other:
                raise UsageError(
                    f"{path} does not belong to {first_path.name}",
                    why=f"{_SEVERAL}: {name.replace('_', ' ')} {one} and {other}",
                    fix=_ONE_RUN,
                )


def _spent(parts: Iterable[Artifact]) -> float:
    """Each shard's run says on every row what it spent on all of them."""
    by_run: dict[tuple[int, int], ShardRecord] = {}
    for part in parts:
        assert part.shard is not None
        by_run[part.shard.index, part.shard.count] = part.shard
    return round(sum(shard.spent_usd for shard in by_run.values()), 8)


def _in_order(whole: Artifact, lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As one run writes them: the original's answers first, tasks in the suite's order, then samples."""
    models = {whole.candidate_model: 1, whole.original_model: 0}
    place = {task.task_id: number for number, task in enumerate(whole.tasks)}

    def rank(line: dict[str, Any]) -> tuple[int, int, int]:
        attempt = line["attempt"]
        return models[line["model"]], place[attempt["task_id"]], attempt["sample"]

    try:
        return sorted(lines, key=rank)
    except (KeyError, TypeError) as error:
        raise UsageError(
            "a shard's transcript is not of its tasks", why=f"{type(error).__name__}: {error}", fix="remove it"
        ) from error


def problems_of(artifact: Artifact) -> tuple[str, ...]:
    """Why tasks of a merged measurement are unscored: one sentence a model and cause, the most frequent first."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task in artifact.tasks:
        for model, trial in ((artifact.original_model, task.original), (artifact.candidate_model, task.candidate)):
            if trial.unscored:
                groups[model, trial.cause or "unknown"].append(trial.detail)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(
        f"{model}: {len(details)} {'task' if len(details) == 1 else 'tasks'} unscored ({cause}): {details[0]}"
        for (model, cause), details in ranked
    )
