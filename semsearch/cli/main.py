"""Entry point of `semsearch`: runs one command line and turns every exception into a message and an exit code.

Results go to stdout, everything else to stderr. An error is one line with what to do next; the exit codes are in
`semsearch.errors`. Signals end with 130 and 143 after a clean rollback.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from semsearch import __version__
from semsearch.cli.commands import Root
from semsearch.cli.options import Options, flag, late, value
from semsearch.cli.output import console
from semsearch.errors import NotFound, SemsearchError, UsageError

BROKEN_PIPE = 128 + 13  # what a shell reports for a program killed by SIGPIPE
HELP = """Find text by meaning: search your documents, index them, compare sentences.

\b
semsearch query "how do I descale a kettle?" ~/notes
"""
app = typer.Typer(
    cls=Root,
    help=HELP,
    rich_markup_mode=None,  # rich would add 0.1 s to every --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class Terminated(BaseException):
    """SIGTERM as an exception, so that open transactions are rolled back."""


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    home: Annotated[Path | None, value("DIR", "Folder that contains the indexes.")] = None,
    offline: Annotated[bool, flag("--offline", "Never use the network.")] = False,
    quiet: Annotated[bool, flag("--quiet", "Print no progress and no summaries.", "-q")] = False,
    verbose: Annotated[bool, flag("--verbose", "Print more to stderr, tracebacks included.", "-v")] = False,
    version: Annotated[bool, flag("--version", "Print the version and exit.")] = False,
) -> None:
    ctx.obj = Options(home, offline, quiet, verbose)
    if version:
        print(f"semsearch {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(late("first_steps.text")(ctx.obj), file=sys.stderr)
        raise typer.Exit(2)


def run() -> NoReturn:
    """Console entry point. Signals and streams are set up here, and only here."""
    signal.signal(signal.SIGTERM, _terminate)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: semsearch … >&-
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (for the life of the process)
        getattr(sys, name).reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


def main(args: Sequence[str]) -> int:
    """Run one command line and return its exit code. Every exception ends here."""
    try:
        code = _invoke(list(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_stdout()
        return BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        return 128 + signal.SIGINT
    except Terminated:
        return 128 + signal.SIGTERM
    except Exception as error:
        return _fail(error, args)


def _invoke(args: list[str]) -> int:
    root = typer.main.get_command(app)
    if "_SEMSEARCH_COMPLETE" in os.environ:
        root.main(args, prog_name="semsearch")  # prints the completions and exits
    try:
        with root.make_context("semsearch", args) as context:
            root.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    return 0


def _fail(error: Exception, args: Sequence[str]) -> int:
    """Print one line to stderr, with --json also one object to stdout; return the exit code."""
    failure = _as_semsearch_error(error)
    try:
        if any(flag in args for flag in ("-v", "--verbose")) and not isinstance(error, UsageError | _ParseError):
            import traceback

            traceback.print_exception(error)
        console.print_error(failure)
        if _wants_json(args):
            console.emit({"error": console.error_object(failure)})
        sys.stdout.flush()
    except OSError:  # the reader of stdout is gone, or its disk is full: perhaps the very error that is reported
        _drop_stdout()
    return failure.exit_code


def _as_semsearch_error(error: Exception) -> SemsearchError:
    """Any exception as one with a fix and an exit code."""
    if isinstance(error, SemsearchError):
        return error
    if isinstance(error, _ParseError):
        text = error.message if "Did you mean" in error.message else error.format_message()  # click would ask again
        message = " ".join(text.split())
        end = "" if message.endswith((".", "?", "!")) else "."
        context = getattr(error, "ctx", None)
        fix = f"See: {context.command_path if context else 'semsearch'} --help"
        usage = UsageError(message[:1].lower() + message[1:] + end, fix)
        usage.exit_code = error.exit_code
        return usage
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        if isinstance(error, FileNotFoundError):
            return NotFound(f"{where}{error.strerror}.", "Check the path.")
        return SemsearchError(f"{where}{error.strerror}.", "Check permissions and free space.")
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return SemsearchError(f"unexpected {detail}.", "Run again with -v for the traceback.")


def _wants_json(args: Sequence[str]) -> bool:
    """Whether the output is JSON, also where the arguments do not parse."""
    own = args[: args.index("--")] if "--" in args else args
    return "--json" in own or "--format=json" in own or ("--format", "json") in pairwise(own)


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated


def _drop_stdout() -> None:
    """Redirect a broken stdout to nowhere, so that the interpreter's last flush cannot fail."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


# The base of typer's parse errors is click's ClickException, which typer does not export.
_ParseError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
