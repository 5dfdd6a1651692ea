"""The grove-edge command: the list of commands, and what becomes of errors.

Exit status: 0 fine, 1 the input or the machine is at fault (one sentence with a code), 2 the command was used wrongly,
3 from `doctor` when something is degraded.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

import typer

from edge.commands import ask, care, memory, replaying, running
from edge.errors import GroveError, code_of, sentence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="grove-edge",
    help="The memory of your glasses: it remembers, answers and helps, on the device.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(running.run)
app.command("stop")(running.stop)
app.command("pause")(running.pause)
app.command("resume")(running.resume)
app.command("replay")(replaying.replay)
app.command("ask")(ask.ask)
app.command("timeline")(memory.timeline)
app.command("episodes")(memory.episodes)
app.command("moments")(memory.moments)
app.command("patterns")(memory.patterns)
app.command("intentions")(memory.intentions)
app.command("alerts")(memory.alerts)
app.command("why")(memory.why)
app.command("export")(memory.export)

app.command("doctor")(care.doctor)
app.command("setup")(care.setup)
app.command("serve")(care.serve)
app.add_typer(care.models, name="models", no_args_is_help=True)

evaluate = typer.Typer(help="Score the memory on recorded questions.", no_args_is_help=True)
evaluate.command("qa")(ask.evaluate)
app.add_typer(evaluate, name="eval")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.  Every error of ours is one line on stderr, never a traceback."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    try:
        app(list(arguments) if arguments is not None else None)
    except SystemExit as stop:  # the library has said what was wrong with the command line (2), or all went well (0)
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        return _fail("aborted", "Stopped.", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        code = code_of(error)
        if code is None:
            raise
        return _fail(code, sentence_of(error), error.exit_status if isinstance(error, GroveError) else 1)
    return 0


def _fail(code: str, text: str, status: int) -> int:
    typer.echo(f"{code}: {text}", err=True)
    return status


def run() -> None:
    """Entry point of the console script."""
    sys.exit(main())


if __name__ == "__main__":
    run()
