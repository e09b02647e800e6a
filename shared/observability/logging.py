"""Structured logging: JSON lines bound to the question, without the texts of foreign exceptions."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

from shared.contracts.errors import AnswerbusError


def configure_logging(stage: str, *, level: str, form: Literal["json", "console"]) -> None:
    """Logs one line per record to standard error; `correlation_id` is bound while a fact is being handled."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            _describe_exception,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(stage=stage)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")


def _describe_exception(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Adds the traceback and the type of the exception.

    The text of an error that is not an `AnswerbusError` is left out, because it may quote what a person wrote.
    """
    exc_info = event.pop("exc_info", None)
    error = exc_info if isinstance(exc_info, BaseException) else sys.exc_info()[1] if exc_info else None
    if error is not None:
        event["exception"] = "\n".join(_describe(error))
    return event


def _describe(error: BaseException) -> list[str]:
    """The error and its causes, the earliest first."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    name = type(error).__name__
    text = f"{name}: {error}" if isinstance(error, AnswerbusError) else name
    return [*(_describe(cause) if cause else ()), "".join(traceback.format_tb(error.__traceback__)) + text]
