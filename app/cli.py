"""The command line, ``dialint``: the commands of ``commands.toml``, imported only when they are called."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from cyclopts import App, Parameter

from dialint.app.output import print_error
from dialint.detector import environment
from dialint.detector.errors import DialintError, describe_defect
from dialint.detector.option_ranges import format_usage_error

HELP = frozenset(("--help", "-h"))
Commands = Mapping[str, Any]
"""Commands and groups by name; an entry with a ``function`` is a command, any other table a group."""
COMMANDS: Commands = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))


def format_default(value: Any) -> Any:
    """Returns a default for the help text; None (not displayed) for flags that are off and empty tuples."""
    if value is True:
        return "True, =false turns it off"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or None
    return None if value is None or value is False else str(value)


app = App(
    error_formatter=format_usage_error,
    name="dialint",
    help="Finds the errors that support agents make: a dialogue log goes in, verdicts come out.",
    version=lambda: version("dialint"),
    default_parameter=Parameter(negative=(), show_default=format_default),
    result_action="return_int_as_exit_code_else_zero",
)


def add_commands(app: App, commands: Commands) -> None:
    for number, (name, entry) in enumerate(commands.items()):
        if not isinstance(entry, dict):
            continue  # an attribute of the group
        if "function" in entry:
            app.command(entry["function"], name=name, help=entry["help"], sort_key=number)
        else:
            add_commands(group := App(name=name, help=entry["help"]), entry)
            app.command(group)


add_commands(app, COMMANDS)


def _list_extras(commands: Commands, group: str = "") -> Iterator[tuple[str, str]]:
    for name, entry in commands.items():
        if isinstance(entry, dict):
            if "extra" in entry:
                yield f"{group}{name}", entry["extra"]
            yield from _list_extras(entry, f"{group}{name} ")


EXTRAS = dict(_list_extras(COMMANDS))
"""The required extra by command or group."""


def check_extras(tokens: Sequence[str]) -> None:
    """Refuses a command whose extra is not installed, before any of its modules is imported. ``--help`` is
    not checked.

    Raises:
        ConfigError: E_EXTRA.
    """
    if HELP.isdisjoint(tokens):
        for n in range(1, len(tokens) + 1):
            if (extra := EXTRAS.get(command := " ".join(tokens[:n]))) is not None:
                environment.require_extra(extra, f"dialint {command}")


def main() -> None:
    """Entry point: prints errors as one line on standard error, without traceback, and sets the exit code."""
    gc.set_threshold(environment.GC_THRESHOLD)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # terminals may lack a character
    if not os.environ.get("DIALINT_DEBUG"):
        silence_libraries()
    try:
        check_extras(sys.argv[1:])
        sys.exit(app(sys.argv[1:]))
    except DialintError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:  # the text of an unexpected exception may be a dialogue's
        if os.environ.get("DIALINT_DEBUG"):
            raise
        exit_after_defect(error)


def silence_libraries() -> None:
    """Silences warnings of libraries that are meant for developers; user errors are raised."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    for library in ("alembic", "bitsandbytes"):
        logging.getLogger(library).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning)


def exit_after_defect(error: Exception) -> NoReturn:
    """Prints the missing extra, or the file and line of the defect without the exception's text, which may be
    a dialogue's, and exits."""
    cause: BaseException | None = error
    while isinstance(cause, ImportError) and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__  # cyclopts wraps what the import of a command raises
    module = cause.name if isinstance(cause, ModuleNotFoundError) else None
    if module and (extra := environment.extra_providing(module)):
        refusal = environment.missing_extra_error(extra, "this", [module])
        print_error(refusal)
        sys.exit(refusal.exit_code)
    print(
        f"dialint: E_INTERNAL: {describe_defect(error)}; a defect of dialint, please report it. "
        "DIALINT_DEBUG=1 shows the traceback, which may hold dialogue text.",
        file=sys.stderr,
    )
    sys.exit(3)
