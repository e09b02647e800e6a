"""What commands print: tables and colours for people, JSON for programs, one line for an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from shared.contracts.errors import AnswerbusError, first_fault
from shared.text.sanitizer import escaped, visible

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
#: Width in characters of a table that is not printed to a terminal.
WIDE = 180


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one line on standard error and this exit code."""
    print(f"answerbus: {visible(message)}", file=sys.stderr)
    raise SystemExit(code)


def fail_on_setting(error: ValidationError) -> NoReturn:
    """End the command with the first setting that is wrong; its value, which may be a secret, is not shown."""
    fail(f"setting {first_fault(error)}")


def print_json(value: Any) -> None:
    """Print indented JSON without control characters."""
    print(escaped(json.dumps(value, ensure_ascii=False, indent=2, default=str)))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; columns of numbers are aligned to the right, None is shown as a dash."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float | None) for row in rows)
        last = index == len(columns) - 1
        shown.add_column(column, justify="right" if numeric else "left", no_wrap=not last, overflow="fold")
    for row in rows:
        # A cell may hold text of users: it must be neither markup, an emoji's code (`kb:a:`), nor a control sequence.
        shown.add_row(*(Text("–" if cell is None else visible(str(cell))) for cell in row))
    # A pipe or a file has no width that lines would have to be cut to.
    Console(width=None if sys.stdout.isatty() else WIDE).print(shown)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a command's coroutine; an `AnswerbusError` or a timeout ends it with one line and exit code 1.

    Ctrl-C ends it with 130.
    """
    import uvloop
    from pydantic import ValidationError

    try:
        return uvloop.run(work())
    except AnswerbusError as error:
        fail(str(error))
    except ValidationError as error:
        fail_on_setting(error)
    except TimeoutError as error:  # also of nats-py
        fail(f"a server did not respond in time ({str(error) or 'timeout'}); the machine may be busy: try again")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(141) from None
