"""`tjb replay`: a user's own recorded calls, answered by a cheaper model and held against what was answered then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

from tjbench.compare.artifact import Artifact
from tjbench.config import Config, ModelSpec
from tjbench.dry_run import DryRun, tell_dry_run
from tjbench.errors import ExitCode, IncompleteError, UsageError
from tjbench.measure import measure
from tjbench.progress import Progress
from tjbench.recorded import Choice, choose, is_unpriced, plan_replay
from tjbench.report.html import render_artifact_html
from tjbench.report.markdown import render_artifact
from tjbench.report.units import counted, number
from tjbench.rows import Rows, gateways_of
from tjbench.store.artifacts import dump
from tjbench.suites.telemetry import Selection, open_history
from tjbench.suites.telemetry.turn import UNNAMED, Census, Fate, Turn
from tjbench.tell import require_writable, write_text
from tjbench.tokenjam import open_tokenjam
from tjbench.workplace import MOCK_NOTICE, RunOptions, Workplace

OVERLAP = "overlap"
JUDGES = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "deepseek": "deepseek:deepseek-chat",
    "openai": "openai:gpt-4o",
}
"""The judge that a provider's name alone means."""
CAPTURE = """\
  [capture]
  prompts = true
  completions = true"""
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What `tjb replay` was asked for. ``original`` is the model of records that name none."""

    telemetry: Path
    config: Config
    options: RunOptions
    candidate: str | None = None
    original: str | None = None
    judge: str = OVERLAP
    control: bool = False
    limit: int | None = None
    since: str | None = None
    agent: str | None = None
    html: Path | None = None
    json: bool = False
    dry_run: bool = False


def replay(request: ReplayRequest, place: Workplace, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Read, ask, judge and tell: people read stderr under ``--json`` and stdout otherwise.

    Exits 0 whatever the agreement, 3 where there is nothing to replay or too much is unscored.
    """
    if request.html:
        require_writable(request.html)
    people = stderr if request.json else stdout
    selection = Selection(since=since(request.since, datetime.now(UTC)), agent=request.agent)
    unnamed = ModelSpec.parse(request.original) if request.original else None
    held = (unnamed.provider, unnamed.model) if unnamed else None
    path = place.root / request.telemetry
    with open_history(path, selection, held) as history:
        census = history.census
    people.writelines(f"{line}\n" for line in render_census(request.telemetry, census))
    if not census.replayable:
        raise nothing_to_replay(census)
    choice = _choice(request, place, census)
    for note in choice.notes:
        people.write(f"{note}\n")
    wanted = replace(selection, originals=frozenset(choice.pairs), limit=request.limit)
    with open_history(path, wanted, held) as history:
        turns, census = list(history.turns(wanted)), history.census
    people.writelines(f"{line}\n" for line in _about(turns, request, choice))
    config = _with_judge(request)
    rows = Rows(plans=plan_replay(turns, choice, census, config, control=request.control), policies={})
    options = replace(request.options, private=True, journal=request.options.journal or place.replay_journal())
    if request.dry_run:
        dry = DryRun(config=config, rows=rows, snapshot=choice.snapshot, options=options, as_json=request.json)
        return tell_dry_run(dry, place, stdout=stdout, stderr=stderr)
    return _measured(replace(request, config=config, options=options), place, choice, rows, census, (stdout, stderr))


def _measured(
    request: ReplayRequest,
    place: Workplace,
    choice: Choice,
    rows: Rows,
    census: Census,
    streams: tuple[TextIO, TextIO],
) -> ExitCode:
    stdout, stderr = streams
    options = request.options
    with place.opened(request.config, choice.snapshot, Progress(stderr), options, rows) as run:
        if run.mock:
            print(MOCK_NOTICE, file=stderr)
        elif options.keep_answers:
            print(
                f"answers are kept in {options.journal}, readable by you alone, so that running again pays nothing; "
                "remove it when you are done, or keep none with --no-journal",
                file=stderr,
            )
        result, written = measure(run)
    _tell(written, request, choice, census, (stdout, stderr))
    for line in result.spending.lines():
        print(line, file=stderr if request.json else stdout)
    for problem in result.problems:
        print(f"warning: {problem}", file=stderr)
    if not any(artifact.incomplete for artifact in written.values()):
        return ExitCode.PASSED
    return ExitCode.USAGE if result.misconfigured else ExitCode.INCOMPLETE


def _choice(request: ReplayRequest, place: Workplace, census: Census) -> Choice:
    judge = _judge(request)
    named = [ModelSpec.parse(text) for text in (request.candidate, judge) if text]
    originals = {text: spec for text in census.replayable if (spec := spec_of(text))}
    snapshot = open_tokenjam(environ=place.environ, cwd=place.root).snapshot(
        [*originals.values(), *named], trust_overrides=True
    )
    return choose(
        census,
        originals,
        snapshot,
        candidate=request.candidate,
        control=request.control,
        gateways=gateways_of(request.config),
        environ=place.environ,
    )


def spec_of(original: str) -> ModelSpec | None:
    """A recorded ``provider:model`` as a model; ``None`` where it holds what no model's name does."""
    try:
        spec = ModelSpec.parse(original)
    except UsageError:
        return None
    return spec if str(spec) == original else None


def _judge(request: ReplayRequest) -> str | None:
    """The judge model; ``None`` where the overlap of words decides."""
    if request.judge == OVERLAP:
        return None
    if request.judge in JUDGES:
        return JUDGES[request.judge]
    if ":" not in request.judge:
        raise UsageError(
            f"--judge {request.judge} is not known", fix=f"name {OVERLAP}, {', '.join(JUDGES)}, or a provider:model"
        )
    return str(ModelSpec.parse(request.judge))


def _with_judge(request: ReplayRequest) -> Config:
    judge = request.config.judge.model_copy(update={"model": _judge(request)})
    return request.config.model_copy(update={"judge": judge})


def since(text: str | None, now: datetime) -> datetime | None:
    """The instant that ``--since`` means: a date, or so many hours, days or weeks ago (``12h``, ``7d``, ``2w``)."""
    if text is None:
        return None
    try:
        if ago := re.fullmatch(r"(\d{1,6})([hdw])", text.strip()):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        at = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UsageError(f"--since {text} is no date", fix="write 2026-11-01, or 7d for the last seven days") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def render_census(path: Path, census: Census) -> Iterator[str]:
    """What became of every call, in lines that add up."""
    yield (
        f"{path}: {counted(census.total, 'recorded call')} of a model, {number(census.with_text)} with prompt and "
        f"answer, {number(census.fates[Fate.REPLAYABLE])} to replay"
    )
    width = len(number(census.total))
    for count, why in census.lines():
        yield f"  {number(count):>{width}}  {why}"


def nothing_to_replay(census: Census) -> IncompleteError:
    """Why nothing can be replayed, and what to set where answers were not captured."""
    what, fates = "nothing can be replayed", census.fates
    if not census.total:
        return IncompleteError(what, why="it holds no call of a model", fix="name another history: --telemetry")
    if fates[Fate.NOT_SELECTED] == census.total:
        return IncompleteError(what, why="every call lies outside --since or --agent", fix="widen them")
    if fates[Fate.NO_MODEL]:
        unnamed = counted(fates[Fate.NO_MODEL], "record")
        return IncompleteError(
            what, why=f"{unnamed} without a model", fix="say which model answered: --original provider:model"
        )
    return IncompleteError(
        what,
        why="no call was recorded with both its prompt and its answer; TokenJam records no answers unless told to",
        fix=f"let it record both from now on, in ~/.config/tj/config.toml:\n{CAPTURE}",
    )


def _about(turns: Sequence[Turn], request: ReplayRequest, choice: Choice) -> Iterator[str]:
    """What a reader must know of the turns that are replayed. With a control recorded dollars are in no comparison."""
    limited = f", the first {number(request.limit)} in time" if request.limit is not None else ""
    yield f"replaying {counted(len(turns), 'call')}{limited}"
    notes: Iterable[tuple[int, str]] = (
        (sum(turn.has_tools for turn in turns), "with tool calls in the conversation, which are replayed as text"),
        (
            sum(turn.provider == UNNAMED for turn in turns),
            "without a provider: nothing that TokenJam recommends for them can be asked",
        ),
        (
            sum(turn.is_partial for turn in turns),
            "sent with more than was recorded, by their tokens (system text, history)",
        ),
        (
            0 if request.control else sum(turn.usage is None for turn in turns),
            "without tokens: their dollars are not compared",
        ),
        (
            0 if request.control else sum(is_unpriced(turn, choice) for turn in turns),
            "of a model without a known price: their dollars are TokenJam's guess",
        ),
    )
    for count, what in notes:
        if count:
            yield f"  {number(count)} {what}"


def _tell(
    written: Mapping[Path, Artifact],
    request: ReplayRequest,
    choice: Choice,
    census: Census,
    streams: tuple[TextIO, TextIO],
) -> None:
    stdout, stderr = streams
    people = stderr if request.json else stdout
    for index, (path, artifact) in enumerate(written.items(), 1):
        people.write(f"\n{render_artifact(artifact).rstrip()}\n\nartifact: {path}\n")
        if request.html:
            page = request.html if len(written) == 1 else request.html.with_stem(f"{request.html.stem}-{index}")
            write_text(page, render_artifact_html(artifact))
            people.write(f"report: {page}\n")
    if request.json:
        document = {
            "n_tasks": sum(artifact.n_tasks for artifact in written.values()),
            "telemetry": {
                "n_calls": census.total,
                "with_text": census.with_text,
                "fates": {str(fate): census.fates[fate] for fate in Fate if census.fates[fate]},
            },
            "left_out": [
                {"original": original, "n_tasks": census.replayable[original], "why": why}
                for original, why in choice.left_out.items()
            ],
            "artifacts": [{"path": str(path), **json.loads(dump(artifact))} for path, artifact in written.items()],
        }
        stdout.write(json.dumps(document, indent=1) + "\n")
