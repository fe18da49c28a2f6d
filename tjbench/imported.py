"""`tjb import`: results measured elsewhere become artifacts, and from there on are judged like our own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from tjbench import __version__
from tjbench.compare.artifact import UNKNOWN, Artifact, Flag, SamplingRecord, SuiteRecord, counts_free_cache, derive
from tjbench.compare.pair import Rule
from tjbench.config import ModelSpec
from tjbench.errors import ExitCode, UsageError
from tjbench.imports import TOOLS, reader_of
from tjbench.imports.outcome import Choice, Outcome, Results
from tjbench.imports.pairing import Basis, Paired, find_model, pair_outcomes, rates_for
from tjbench.report.markdown import render_artifact
from tjbench.report.units import counted
from tjbench.store.artifacts import dump, write_artifact
from tjbench.suites.task import digest
from tjbench.tokenjam import Snapshot, claimed_saving_pct, open_tokenjam

LEAVE_NO_CHOICE = {"csv": ("metric", "threshold"), "promptfoo": ("metric", "threshold"), "deepeval": ("threshold",)}
"""What need not be chosen with a tool, since its files say what passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What `tjb import` was asked for."""

    tool: str
    files: tuple[Path, ...]
    original: str
    candidate: str
    suite: str | None = None
    choice: Choice = field(default_factory=Choice)
    out: Path = Path("results")
    json: bool = False


def import_results(
    request: ImportRequest, environ: Mapping[str, str], cwd: Path, *, stdout: TextIO, stderr: TextIO
) -> ExitCode:
    """Read, pair, price and write one artifact a suite; people read stderr under ``--json`` and stdout otherwise.

    Exits 3 where too many tasks of one are unscored. Raises ``UsageError`` for files that are not what they should be.
    """
    original, candidate = ModelSpec.parse(request.original), ModelSpec.parse(request.candidate)
    results = _read(request)
    names = _models(results, original, candidate, stderr)
    suites = _suites(results.outcomes, request)
    at = (results.measured_at or datetime.now(UTC)).astimezone(UTC)
    tokenjam = open_tokenjam(environ=environ, cwd=cwd)
    snapshot = tokenjam.snapshot([original, candidate], trust_overrides=True, at=at)
    notes = [*results.notes, *(f"prices are overridden by {name}" for name in snapshot.overrides)]
    made = []
    for suite, outcomes in suites.items():
        sides = [[o for o in outcomes if o.model == name] for name in names]
        if not (sides[0] and sides[1]):
            notes.append(f"{suite}: left out, since only one of the models has results")
            continue
        paired = pair_outcomes(sides[0], sides[1])
        made.append(_artifact(request, results, suite, paired, snapshot, at))
        notes += [f"{suite}: {note}" for note in _notes(paired, made[-1])]
    if not made:
        raise UsageError("no suite has results of both models", why="; ".join(notes))
    written = {write_artifact(artifact, request.out): artifact for artifact in made}
    for note in dict.fromkeys(notes):
        print(f"note: {note}", file=stderr)
    _tell(written, request, stdout, stderr)
    return ExitCode.INCOMPLETE if any(artifact.incomplete for artifact in made) else ExitCode.PASSED


def _read(request: ImportRequest) -> Results:
    if request.tool not in TOOLS:
        raise UsageError(f"--from {request.tool} is not known", fix=f"name one of {', '.join(TOOLS)}")
    for name in LEAVE_NO_CHOICE.get(request.tool, ()):
        if getattr(request.choice, name) is not None:
            raise UsageError(f"--{name} has no meaning with {request.tool}", why="its files say what passed")
    results = reader_of(request.tool)(request.files, request.choice)
    if not results.outcomes:
        raise UsageError(f"{', '.join(map(str, request.files))}: there are no results in it")
    return results


def _models(results: Results, original: ModelSpec, candidate: ModelSpec, stderr: TextIO) -> tuple[str, str]:
    """The names of both models in the results. Two files that name no model are the original's and the candidate's,
    in this order."""
    if len(results.models) == 2 and not any(results.models.values()):
        first, second = results.models
        print(f"note: no file names its model: {first} is taken for {original}, {second} for {candidate}", file=stderr)
        return first, second
    names = find_model(original, results.models, "original"), find_model(candidate, results.models, "candidate")
    if names[0] == names[1]:
        raise UsageError(
            f"original and candidate are both {names[0]} in the results",
            why=f"the models seen are {', '.join(results.models)}",
        )
    return names


def _suites(outcomes: Sequence[Outcome], request: ImportRequest) -> dict[str, list[Outcome]]:
    """Outcomes by suite. ``--suite`` picks one of several, or names the only one."""
    found: dict[str | None, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.suite, []).append(outcome)
    if request.suite is None:
        return {suite or request.tool: group for suite, group in found.items()}
    if request.suite in found:
        return {request.suite: found[request.suite]}
    if len(found) > 1:
        raise UsageError(
            f"there is no suite {request.suite} in the results",
            why=f"the suites seen are {', '.join(str(suite) for suite in found)}",
            fix="name one of them with --suite, or none",
        )
    return {request.suite: list(outcomes)}


def _artifact(
    request: ImportRequest, results: Results, suite: str, paired: Paired, snapshot: Snapshot, at: datetime
) -> Artifact:
    specs = ModelSpec.parse(request.original), ModelSpec.parse(request.candidate)
    original, candidate = str(specs[0]), str(specs[1])
    prices = rates_for(paired, [snapshot.rates[spec] for spec in specs])
    rates = {original: prices[0], candidate: prices[1]}
    sources = {rate.source for rate in prices}
    claimed = None if sources & {"default", UNKNOWN} else claimed_saving_pct(*prices)
    flags = {
        Flag.DEFAULT_RATES: "default" in sources,
        Flag.UNKNOWN_CACHE_RATE: counts_free_cache(paired.tasks, rates, original, candidate),
        Flag.JUDGE_SCORED: results.judge is not None,
        Flag.OVERRIDES: "override" in sources,
    }
    version = f" {results.tool_version}" if results.tool_version else ""
    return Artifact.model_validate(
        {
            "schema": "tjbench/1",
            "bench_version": __version__,
            "tokenjam_version": snapshot.version,
            "created_at": at,
            "suite": SuiteRecord(
                name=suite,
                prompts_revision=_revision([(task.task_id, task.prompt_hash) for task in paired.tasks]),
                checks_revision=_revision([(task.task_id, task.check_hash) for task in paired.tasks]),
                n_available=len(paired.tasks),
            ),
            "original_model": original,
            "candidate_model": candidate,
            "slot": candidate,
            "recommended_by": f"imported from {request.tool}{version}",
            "sampling": SamplingRecord(
                samples=paired.samples, temperature=results.temperature, max_tokens=results.max_tokens
            ),
            "seed": None,
            "scorer_version": f"import/{request.tool}",
            "sandbox_level": UNKNOWN,
            "judge": results.judge,
            "mock": False,
            "priced_with_defaults": "default" in sources,
            "flags": tuple(flag for flag, is_set in flags.items() if is_set),
            "rates": rates,
            "claimed_saving_pct": None if claimed is None else round(claimed, 4),
            "commit": None,
            "tasks": paired.tasks,
            **derive(paired.tasks, rates, original, candidate, Rule()),
        }
    )


def _revision(hashes: Sequence[tuple[str, str]]) -> str:
    return UNKNOWN if any(found == UNKNOWN for _, found in hashes) else digest([list(pair) for pair in hashes])


def _notes(paired: Paired, artifact: Artifact) -> Iterator[str]:
    if paired.lacking:
        yield f"{counted(paired.lacking, 'sample')} of one model without the other's, taken as unscored"
    if paired.basis is Basis.STATED:
        yield "dollars are as the results state them"
    elif paired.basis is Basis.TOKENS:
        guess = ", some of them placeholders: the dollars are a guess" if artifact.priced_with_defaults else ""
        yield f"dollars are tokens at TokenJam's rates of {artifact.created_at:%Y-%m-%d}{guess}"
    else:
        yield "no dollars: the results do not state them, nor input and output tokens, for every sample of both models"


def _tell(written: Mapping[Path, Artifact], request: ImportRequest, stdout: TextIO, stderr: TextIO) -> None:
    people = stderr if request.json else stdout
    for path, artifact in written.items():
        people.write(f"{render_artifact(artifact).rstrip()}\n\nartifact: {path}\n")
    if request.json:
        artifacts = [{"path": str(path), **json.loads(dump(artifact))} for path, artifact in written.items()]
        stdout.write(json.dumps({"artifacts": artifacts}, indent=1) + "\n")
