"""How the CLI speaks: tables and colours for people, `--json` for programs, one line for an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NoReturn, TypeVar

from shared.contracts.errors import AnswerbusError
from shared.text.sanitizer import escaped, visible

T = TypeVar("T")
#: Columns of a table that does not go to a terminal.
WIDE = 180


def fail(message: str, code: int = 1) -> NoReturn:
    """One line on standard error, and the end."""
    print(f"answerbus: {visible(message)}", file=sys.stderr)
    raise SystemExit(code)


def print_json(value: Any) -> None:
    print(escaped(json.dumps(value, ensure_ascii=False, indent=2, default=str)))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float | None) for row in rows)
        last = index == len(columns) - 1
        shown.add_column(column, justify="right" if numeric else "left", no_wrap=not last, overflow="fold")
    for row in rows:
        # A cell may hold what somebody wrote: it is no markup, and does not speak to the terminal.
        shown.add_row(*("–" if cell is None else escape(visible(str(cell))) for cell in row))
    # In a pipe or a file nothing is cut to the width of a terminal that is not there.
    Console(width=None if sys.stdout.isatty() else WIDE).print(shown)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a verb; our errors are one line and exit code 1, Ctrl-C is 130."""
    import uvloop
    from pydantic import ValidationError

    try:
        return uvloop.run(work())
    except AnswerbusError as error:
        fail(str(error))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        fail(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(141) from None
