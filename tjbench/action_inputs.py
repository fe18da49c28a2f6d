"""What one CI run was given: event, `INPUT_*`, and the configuration under them and under the base commit's policy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tjbench.base_policy import judged_by_base
from tjbench.config import Config, Policy, parse_config
from tjbench.errors import UsageError
from tjbench.github.actions import Commands, inputs
from tjbench.github.api import ApiRepository, ApiThread, Patience, connect
from tjbench.github.baseline import Repository
from tjbench.github.event import Event
from tjbench.settings import overridden
from tjbench.workplace import CONFIG_NAME, Workplace

INPUTS = {
    "config": "",
    "benchmarks": "",
    "original": "",
    "candidate": "",
    "limit": "",
    "samples": "",
    "tokenjam-version": "latest",
    "baseline": "auto",
    "baseline-dir": "",
    "fail-on": "",
    "alpha": "",
    "margin-pp": "",
    "max-cost-usd": "10",
    "allow-unpriced": "",
    "confirm": "",
    "reuse": "",
    "concurrency": "",
    "mock": "auto",
    "judge": "",
    "allow-overrides": "false",
    "comment": "auto",
    "comment-id": "",
    "mode": "auto",
    "shard": "",
    "merge": "",
    "report-file": "",
    "journal-dir": "",
    "results-dir": "results",
    "github-token": "",
}
"""Every input with its default; an empty default leaves the configuration's value."""

SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET")
MODES = ("auto", "gate", "record", "upgrade-check", "post-comment")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRun:
    """One run's inputs and surroundings. ``repository`` is the hosting API, or None to read the local clone."""

    event: Event
    given: Mapping[str, str]
    place: Workplace
    repository: Repository | None
    thread: ApiThread | None
    commands: Commands
    log: TextIO

    def value(self, name: str) -> str:
        """An input, else its default."""
        return self.given.get(name, INPUTS[name])

    def choice(self, name: str, *allowed: str) -> str:
        """An input with few values. Raises ``UsageError`` for any other."""
        value = self.value(name).lower()
        if value not in allowed:
            raise UsageError(f"input {name}: {value!r} is not one of {', '.join(allowed)}")
        return value


def open_action(environ: Mapping[str, str], root: Path, log: TextIO, patience: Patience | None = None) -> ActionRun:
    """Read event and inputs, and mask every secret before anything else is printed."""
    commands = Commands(log)
    given = inputs(environ)
    if environ.get("GITHUB_ACTIONS") == "true":  # anywhere else the command that hides a secret would show it
        for name, secret in environ.items():
            if secret and (name.endswith(SECRET_ENDINGS) or name.upper() == "INPUT_GITHUB-TOKEN"):
                commands.mask(secret)
    event = Event.from_environ(environ)
    token = given.get("github-token") or environ.get("GITHUB_TOKEN", "")
    client = connect(event.api_url, token, patience) if token and event.repository else None
    posting = given.get("mode", "").lower() == "post-comment"
    about = event.source.head if event.source and posting else event.pull_request
    thread = ApiThread(client=client, full_name=event.repository, pull_request=about) if client and about else None
    return ActionRun(
        event=event,
        given=given,
        place=Workplace(root=root, environ=environ, confined=True),
        repository=ApiRepository(client=client, full_name=event.repository) if client else None,
        thread=thread,
        commands=commands,
        log=log,
    )


def read_config(run: ActionRun, *, record: bool = False) -> tuple[Config, list[str]]:
    """The workspace's configuration under the inputs, and under the base commit's policy where the event has a base: on
    a pull request and in a merge queue."""
    name = run.given.get("config")
    config = run.place.read_config(name)
    notes: list[str] = []
    if run.event.base_sha:
        base, unreadable = _base_config(run, name or CONFIG_NAME)
        config, changed = judged_by_base(config, base)
        notes += unreadable
        if changed:
            notes.append(f"this pull request's own {', '.join(changed)} will count once it is merged, not here")
    given = _given(run, config, record=record)
    rows_given = any(given[name] for name in ("benchmarks", "original", "candidate"))
    return overridden(config, given, "input ").with_dropped(() if rows_given else config.dropped), notes


def _given(run: ActionRun, config: Config, *, record: bool) -> dict[str, object]:
    """Inputs by the name of their configuration key. The cap is the input's unless the file sets its own."""
    mock = run.choice("mock", "auto", "true", "false")
    cap = run.given.get("max-cost-usd") or (INPUTS["max-cost-usd"] if config.run.max_cost_usd is None else None)
    names = ("reuse", "benchmarks", "original", "candidate", "limit", "samples", "alpha", "concurrency", "judge")
    given: dict[str, object] = {name: run.given.get(name) for name in names}
    given |= {"fail_on": run.given.get("fail-on"), "margin_pp": run.given.get("margin-pp"), "max_cost_usd": cap}
    if "allow-unpriced" in run.given:
        given["allow_unpriced"] = run.choice("allow-unpriced", "true", "false") == "true"
    if "mock" in run.given:
        given["mock"] = {"true": True, "false": False}.get(mock, mock)
    if "confirm" in run.given:
        given["confirm"] = run.choice("confirm", "true", "false") == "true"
    if run.value("mode") == "upgrade-check":
        given["reuse"] = "all"
    if record:
        given["fail_on"] = str(Policy.INCOMPLETE)
    return given


def _base_config(run: ActionRun, name: str) -> tuple[Config, list[str]]:
    """The configuration at the pull request's base commit. Where it has none, or a broken one, which a pull request
    must be able to mend, it is the embedded default; the latter is said."""
    sha = run.event.base_sha
    assert sha is not None
    content = run.repository.file(sha, name) if run.repository else run.place.checkout.file(sha, name)
    if content is None:
        return Config(), []
    try:
        return parse_config(content.decode("utf-8"), f"{name} at {sha[:12]}"), []
    except (UsageError, UnicodeDecodeError) as error:
        what = error.what if isinstance(error, UsageError) else f"{name} at {sha[:12]} is not UTF-8"
        return Config(), [f"the default policy holds, for the base commit's cannot be read: {what}"]


def refuse_unknown(given: Mapping[str, str]) -> None:
    """Raises ``UsageError`` for an input that there is not."""
    for name in given:
        if name not in INPUTS:
            close = difflib.get_close_matches(name, INPUTS, n=1)
            raise UsageError(
                f"there is no input {name!r}",
                why=f"the inputs are {', '.join(INPUTS)}",
                fix=f"did you mean {close[0]!r}?" if close else "remove it",
            )
