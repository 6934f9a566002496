"""How the command ends: exit status, interrupts, and closed pipes (`| head`).

Exit status: 0 done, 1 interrupted (or the reader of a pipe has closed it), 2 wrong input or usage,
3 an internal error, 143 ended by SIGTERM (128 + 15, as shells count). Whatever is wrong is
one sentence on standard error; a traceback is for ``--debug`` alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from kernelight.cli.messages import Notes, on_one_line, sentence, usage
from kernelight.cli.show import printing

INTERRUPTED, WRONG_INPUT, INTERNAL_ERROR = 1, 2, 3
DEBUG = "KERNELIGHT_DEBUG"  # set in the environment: errors are raised, with their traceback
INTERRUPTED_BY_TYPER = 130  # the status that typer gives for Ctrl-C
_INPUT_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)


def run_and_exit(command: Callable[[], Any]) -> NoReturn:
    """Call the command and end the process: an error becomes one sentence and a status."""
    _allow_any_file_name()
    try:
        with warnings.catch_warnings(), _cleaning_up_on_sigterm():
            warnings.showwarning = Notes()
            status = command()
        if sys.stdout is not None:
            with printing():
                sys.stdout.flush()  # here, where an error can still be reported
    except KeyboardInterrupt:
        end_interrupted()
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        _discard_output()
        sys.exit(INTERRUPTED)
    except Exception as error:
        if DEBUG in os.environ:
            raise
        # called without arguments: the message is the help
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            sys.exit(WRONG_INPUT)
        _discard_output()
        _end(*message_and_status(error))
    if status == INTERRUPTED_BY_TYPER:
        end_interrupted()
    sys.exit(status if isinstance(status, int) else 0)


def message_and_status(error: Exception) -> tuple[str, int]:
    """The sentence for an error, and its exit status."""
    if hasattr(error, "format_message"):  # wrong usage, as typer reports it
        return usage(error), WRONG_INPUT
    if isinstance(error, _INPUT_ERRORS):
        return sentence(error), WRONG_INPUT
    if isinstance(error, typer.Abort):
        return "Interrupted.", INTERRUPTED
    what = f"{type(error).__name__}: {on_one_line(str(error))}"
    return f"Internal error ({what}): please report what --debug shows.", INTERNAL_ERROR


def end_interrupted() -> NoReturn:
    """End as after Ctrl-C."""
    _end("Interrupted.", INTERRUPTED)


def _end(text: str, status: int) -> NoReturn:
    if sys.stderr is not None:
        print(f"kernelight: {text}", file=sys.stderr)
    sys.exit(status)


def _allow_any_file_name() -> None:
    """Let every name of a file be printed.

    On Linux they are bytes: a terminal of UTF-8 gets them unchanged. Another encoding gets the
    numbers of the characters that it lacks.
    """
    if hasattr(sys.stdout, "reconfigure"):
        utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")


@contextmanager
def _cleaning_up_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process as an exception does, so that no temporary file stays."""

    def end(*_: Any) -> None:
        sys.exit(128 + signal.SIGTERM)

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _discard_output() -> None:
    """Discard what is still to be written to standard output.

    Python would complain at its end if it could not be written.
    """
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    # standard output is no file, as in tests, or closed
    except (OSError, ValueError, AttributeError):
        return
