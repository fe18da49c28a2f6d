"""The command `tjb` and its door: every error ends here, once, with its exit code."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from tjbench.errors import ExitCode, TjbError

app = typer.Typer(
    name="tjb",
    help="Does the cheaper model that TokenJam recommends still get the work right, and what does it really save?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code. The program's only broad ``except``: a bug keeps its traceback."""
    register_commands()
    sys.exit(_exit_code(sys.argv[1:] if arguments is None else arguments))


def register_commands() -> None:
    """Add every command to ``app``, once."""
    from tjbench.cli import action, gate, info, run

    if not app.registered_commands:
        for group in (run, gate, info, action):
            group.register(app)


def _exit_code(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
    except TjbError as error:
        print(f"tjb: {error}", file=sys.stderr)
        return error.exit_code
    except typer.TyperException as error:
        show = getattr(error, "show", None)
        show() if callable(show) else print(f"tjb: {error.format_message()}", file=sys.stderr)
        return ExitCode.USAGE
    except BrokenPipeError:
        # Whoever read our output has left: nothing more can be said to them, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.PASSED
    except Exception as error:
        traceback.print_exception(error)
        print("tjb: this is a bug in tokenjam-bench; please report the lines above", file=sys.stderr)
        return 70
    if code == ExitCode.INTERRUPTED:
        print("tjb: interrupted; answers in the journal are kept: run again to go on", file=sys.stderr)
    return code if isinstance(code, int) else ExitCode.PASSED
