"""The grove-edge command: the list of commands, and what becomes of errors.

Exit status: 0 fine, 1 the input or the machine is at fault (one sentence with a code), 2 the command was used wrongly,
3 from `doctor` when something is degraded.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edge.commands import archive, ask, care, context, firmware, forget, memory, patience, proactive, replaying, running
from edge.commands.standing import standing
from edge.errors import GroveError, InputError, UsageError, code_of, sentence_of
from edge.keys import use_configured_keys
from edge.leaving import leave

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


def _version(wanted: bool) -> None:
    if wanted:
        try:
            version = importlib.metadata.version("grove-edge")
        except importlib.metadata.PackageNotFoundError:  # run from its folder, not installed
            version = "of this folder"
        typer.echo(f"grove-edge {version}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """The memory of your glasses: it remembers, answers and helps, on the device."""


app.command("run")(running.run)
app.command("stop")(running.stop)
app.command("pause")(patience.pause)
app.command("resume")(patience.resume)
app.command("replay")(replaying.replay)
app.command("ask")(ask.ask)
app.command("timeline")(memory.timeline)
app.command("episodes")(memory.episodes)
app.command("moments")(memory.moments)
app.command("patterns")(memory.patterns)
app.command("intentions")(memory.intentions)
app.command("facts")(context.facts)
app.command("views")(context.views)
app.command("correct")(context.correct)
app.command("corrections")(context.corrections)
app.command("alerts")(memory.alerts)
app.command("why")(memory.why)
app.command("export")(archive.export)
app.command("import")(archive.import_)
app.command("frequency")(patience.frequency)
app.command("quiet-hours")(patience.quiet_hours)
app.command("snooze")(patience.snooze)
app.command("thanks")(patience.thanks)
app.command("dismiss")(patience.dismiss)
app.command("power")(patience.power)
app.add_typer(standing, name="standing")
app.add_typer(context.procedures, name="procedures")

app.command("forget")(forget.forget)
app.command("pin")(forget.pin)
app.command("unpin")(forget.unpin)
app.command("prune")(forget.prune)
app.command("backup")(archive.backup)
app.command("restore")(archive.restore)
app.command("encrypt")(archive.encrypt)
app.command("decrypt")(archive.decrypt)
app.command("rekey")(archive.rekey)
app.command("doctor")(care.doctor)
app.command("setup")(care.setup)
app.command("serve")(care.serve)
app.add_typer(care.models, name="models", no_args_is_help=True)
app.add_typer(firmware.firmware, name="firmware", no_args_is_help=True)

evaluate = typer.Typer(help="Score the memory on recorded questions.", no_args_is_help=True)
evaluate.command("qa")(ask.evaluate)
evaluate.command("proactive")(proactive.evaluate_proactive)
app.add_typer(evaluate, name="eval")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.  Every error is one line on stderr, "code: sentence", never a traceback."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    use_configured_keys()
    try:
        status = app(None if arguments is None else list(arguments), prog_name="grove-edge", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as stop:  # the library's way to tell of a pipe that was closed
        return _closed_pipe() if stop.code == 1 else int(stop.code or 0)
    except BrokenPipeError:
        return _closed_pipe()
    except typer.Abort:
        return _fail("aborted", "Stopped.", 1)
    except Exception as error:
        if isinstance(error, _Usage):
            return _misused(error)
        code = code_of(error)
        if code is None and isinstance(error, OSError):
            return _fail(InputError.code, _refused(error), 1)
        if code is None and isinstance(error, UnicodeEncodeError):
            return _fail(UsageError.code, "What was given holds bytes that are no text: write it in UTF-8.", 2)
        if code is None:
            raise
        return _fail(code, sentence_of(error), error.exit_status if isinstance(error, GroveError) else 1)
    if status == _INTERRUPTED:
        return _fail("aborted", "Stopped.", _INTERRUPTED)
    return status if isinstance(status, int) else 0


# What the command-line library raises for a wrong command line; it has no public name in all of its versions.
_Usage: type[Exception] = typer.BadParameter.__mro__[1]
_INTERRUPTED = 130  # what the library makes of Ctrl-C


def _misused(error: Any) -> int:
    """A command line that cannot be understood; a command given nothing shows its help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        typer.echo(context.get_help())
        return UsageError.exit_status
    text = " ".join(str(error.format_message()).split()).replace("Value error, ", "").rstrip(".")
    where = "grove-edge" if context is None else context.command_path
    return _fail(UsageError.code, f"{text}. See {where} --help.", UsageError.exit_status)


def _refused(error: OSError) -> str:
    """What the system would not do: a name that no file can have, a full disk, a folder one may not enter."""
    about = "" if error.filename is None else f"{str(error.filename)[:200]}: "
    return f"{about}{error.strerror or error}: check the path, its permissions and the free space."


def _closed_pipe() -> int:
    """Who read our output has gone: nothing more can be said there, and nothing is wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _fail(code: str, text: str, status: int) -> int:
    typer.echo(f"{code}: {text}", err=True)
    return status


def run() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows another in its place
            stream.reconfigure(errors="replace")
    leave(main())


if __name__ == "__main__":
    run()
