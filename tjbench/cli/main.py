"""The command `tjb` and its door: every error ends here, once, with its exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from tjbench import __version__
from tjbench.errors import ExitCode, TjbError

NOBODY_READS = 141
"""What a shell reports of a program whose reader has left (SIGPIPE)."""

OTHER_NAMES = {
    "--suite": "--benchmark",
    "--suites": "--benchmark",
    "--benchmarks": "--benchmark",
    "--model": "--original",
}
"""Options that people try, and the one that each means."""

app = typer.Typer(
    name="tjb",
    help="Does the cheaper model that TokenJam recommends still get the work right, and what does it really save?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tokenjam-bench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_say_version, is_eager=True, help="Show the version of TokenJam Bench and exit."
        ),
    ] = False,
) -> None:
    """Options before the command."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code. The program's only broad ``except``: a bug keeps its traceback."""
    register_commands()
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(_exit_code(sys.argv[1:] if arguments is None else arguments))


def _terminate(*_: object) -> NoReturn:
    """End as an interrupt does, through every ``finally``, with an exit code of its own."""
    raise SystemExit(ExitCode.TERMINATED)


def register_commands() -> None:
    """Add every command to ``app``, once."""
    from tjbench.cli import action, gate, history, info, replay, run, score, stored, upgrade

    if not app.registered_commands:
        for group in (run, replay, score, gate, upgrade, stored, history, info, action):
            group.register(app)


def _exit_code(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except TjbError as error:
        print(f"tjb: {error}", file=sys.stderr)
        return error.exit_code
    except typer.TyperException as error:
        meant = OTHER_NAMES.get(getattr(error, "option_name", ""))
        if meant is not None:
            vars(error)["possibilities"] = [meant]
        show = getattr(error, "show", None)
        show() if callable(show) else print(f"tjb: {error.format_message()}", file=sys.stderr)
        return ExitCode.USAGE
    except BrokenPipeError:
        # Whoever read our output has left: nothing more can be said to them, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except Exception as error:
        from tjbench.models.failures import Redactor, secrets_in

        print(
            Redactor(secrets_in(os.environ)).hide("".join(traceback.format_exception(error))), file=sys.stderr, end=""
        )
        print("tjb: this is a bug in tokenjam-bench; please report the lines above", file=sys.stderr)
        return 70
    if code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        print("tjb: interrupted; answers in the journal are kept: run the same command again to go on", file=sys.stderr)
    return code


def _run(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer exits 1, which here would mean a regression
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else ExitCode.PASSED
    return code if isinstance(code, int) else ExitCode.PASSED
