"""A table of cases as one test, which lists all that fail.

    @table("text", texts("honest"))
    def test_an_honest_question_passes(text: str) -> None: ...

For cases that take no fixture of their own: what a test of thousands costs is its setup, its report and its transfer
between processes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def table(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test with each case as the arguments of these names; other arguments are fixtures, shared by all."""
    arguments = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    rows = [case if len(arguments) > 1 else (case,) for case in cases]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), "a coroutine would not be awaited"

        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            assert rows, "a table without cases proves nothing"
            failed = []
            for row in rows:
                try:
                    test(**dict(zip(arguments, row, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{', '.join(map(repr, row))}: {type(error).__name__}: {error}")
            assert not failed, f"{len(failed)} of {len(rows)} cases fail:\n" + "\n".join(failed)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        all_cases.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_cases

    return decorate
