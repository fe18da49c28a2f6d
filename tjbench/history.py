"""`tjb history`: the measurements that a directory holds, listed, shown and followed across TokenJam's versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from tjbench.compare.artifact import RowKey
from tjbench.compare.history import Entry, Filter, find, newest_first, trends
from tjbench.errors import ExitCode, UsageError
from tjbench.report.markdown import render_history_list, render_trends
from tjbench.report.spreadsheet import as_csv
from tjbench.report.units import counted
from tjbench.store.history import INDEX, History, open_history
from tjbench.tell import columns, tell_report


class HistoryAction(StrEnum):
    """What `tjb history` can do."""

    LIST = "list"
    SHOW = "show"
    TREND = "trend"
    INGEST = "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """What `tjb history` was asked. ``name`` is a measurement's id or file name, for ``SHOW`` alone."""

    action: HistoryAction
    results: Path
    name: str | None = None
    wanted: Filter = field(default_factory=Filter)
    json: bool = False
    csv: bool = False


def tell_history(request: HistoryRequest, *, stdout: TextIO, stderr: TextIO) -> ExitCode:
    """Bring the index up to date, saying so on ``stderr``, and print what was asked for."""
    _check(request)
    history = open_history(request.results, anew=request.action is HistoryAction.INGEST)
    stderr.writelines(f"{line}\n" for line in _refreshed(request, history))
    if request.action is HistoryAction.SHOW and request.name:
        return _show(request, find(history.entries, request.name), stdout, stderr)
    if request.action is HistoryAction.INGEST:
        told = {"index": str(request.results / INDEX), "n_measurements": len(history.entries)}
        stdout.write(_document(told, history) if request.json else f"{told['index']}: {_total(history)}\n")
        return ExitCode.PASSED
    found = newest_first(history.entries, request.wanted)
    if request.action is HistoryAction.TREND:
        _tell_trends(request, trends(found), history, stdout)
    else:
        _tell_list(request, found, history, stdout)
    return ExitCode.PASSED


def _check(request: HistoryRequest) -> None:
    action = request.action
    if request.json and request.csv:
        raise UsageError("--json and --csv cannot both be printed", fix="leave one out")
    if action is HistoryAction.SHOW and not request.name:
        raise UsageError("tjb history show needs a measurement", fix="name its id: tjb history lists them")
    if action is not HistoryAction.SHOW and request.name:
        raise UsageError(f"tjb history {action} takes no measurement", fix=f"tjb history show {request.name}")
    if action in (HistoryAction.SHOW, HistoryAction.INGEST) and request.wanted != Filter():
        raise UsageError(f"tjb history {action} takes no filter", fix="filters go with list and trend")
    if action is HistoryAction.INGEST and request.csv:
        raise UsageError("tjb history ingest prints no table", fix="leave --csv out")


def _refreshed(request: HistoryRequest, history: History) -> Iterable[str]:
    if history.n_read or history.n_removed:
        gone = f", {history.n_removed} gone" if history.n_removed else ""
        yield f"index: {counted(history.n_read, 'file')} read{gone}"
    if history.unwritable:
        yield f"index not kept: {request.results} cannot be written to ({history.unwritable})"
    yield from (f"skipped {name}: {why}" for name, why in history.rejected.items())


def _show(request: HistoryRequest, entry: Entry, stdout: TextIO, stderr: TextIO) -> ExitCode:
    if request.csv:
        stdout.write(_csv([entry]))
        return ExitCode.PASSED
    path = request.results / entry.file
    return tell_report(path, checked=False, as_json=request.json, html=None, stdout=stdout, stderr=stderr)


def _tell_list(request: HistoryRequest, found: Sequence[Entry], history: History, stdout: TextIO) -> None:
    if request.json:
        stdout.write(_document({"measurements": [_jsonable(entry) for entry in found]}, history))
    elif request.csv:
        stdout.write(_csv(found))
    else:
        stdout.write(render_history_list(found, len(history.entries), width=columns(stdout)))


def _tell_trends(request: HistoryRequest, rows: dict[RowKey, list[Entry]], history: History, stdout: TextIO) -> None:
    if request.json:
        series = [asdict(key) | {"steps": [_jsonable(step) for step in steps]} for key, steps in rows.items()]
        stdout.write(_document({"series": series}, history))
    elif request.csv:
        stdout.write(_csv([step for steps in rows.values() for step in steps]))
    else:
        stdout.write(render_trends(rows, len(history.entries), width=columns(stdout)))


def _total(history: History) -> str:
    skipped = f", {counted(len(history.rejected), 'file')} skipped" if history.rejected else ""
    return f"{counted(len(history.entries), 'measurement')}{skipped}"


def _jsonable(entry: Entry) -> dict[str, object]:
    return asdict(entry) | {"created_at": entry.created_at.isoformat()}


def _document(told: dict[str, object], history: History) -> str:
    return json.dumps(told | {"skipped": dict(history.rejected)}, indent=1) + "\n"


def _csv(entries: Sequence[Entry]) -> str:
    return as_csv(map(asdict, entries), [f.name for f in fields(Entry)])
