"""Options that several commands share, spelled like their inputs and configuration keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Mock = Annotated[
    bool | None,
    typer.Option("--mock/--no-mock", help="Scripted models instead of live ones; default: as the keys allow."),
]
LiveUnlessMock = Annotated[
    bool | None,
    typer.Option(
        "--mock/--no-mock",
        help="Scripted models instead of live ones; default: live, and a missing key is an error.",
    ),
]
Out = Annotated[Path, typer.Option(help="Directory for artifacts.")]
Data = Annotated[str | None, typer.Option(help="A local file with the rows of a suite that lives on a hub.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Calls in flight at most.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost-usd", min=0, help="Spend no more than this many dollars.")]
DeadlineMinutes = Annotated[
    float | None, typer.Option("--deadline-minutes", help="Start no call after this many minutes.")
]
AllowUnpriced = Annotated[
    bool, typer.Option("--allow-unpriced", help="Keep a cap even where a model's price is a guess or 0 by an override.")
]
Judge = Annotated[
    str | None, typer.Option(help="The model that grades judged tasks, as provider:model; default: [judge] model.")
]
Journal = Annotated[Path | None, typer.Option(help="Directory that keeps every answer; running again resumes.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Ask again even where the journal holds an answer.")]
Unsandboxed = Annotated[
    bool,
    typer.Option("--allow-unsandboxed", help="Run model-written code even where no sandbox is available."),
]
Shard = Annotated[
    str | None,
    typer.Option(metavar="I/N", help="Only every N-th task, from the I-th; tjb merge puts the N artifacts together."),
]
EarlyStop = Annotated[
    bool | None,
    typer.Option("--early-stop/--no-early-stop", help="Ask no more tasks of a row whose regression is clear already."),
]
ConfigFile = Annotated[str | None, typer.Option("--config", help="Configuration file; default: tjbench.toml.")]
Markdown = Annotated[Path | None, typer.Option(help="Also write the report as Markdown to this file.")]
Html = Annotated[Path | None, typer.Option(help="Also write the report as HTML to this file.")]
