"""Errors of the record's database, as its adapters raise them. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shared.contracts.errors import UnavailableError


@contextmanager
def database_errors(told: str = "the record is unavailable") -> Iterator[None]:
    """Raise database errors as `UnavailableError`, `told` without their text: it may quote what people wrote."""
    from services.persistence.sql.database import ERRORS, error_name

    try:
        yield
    except ERRORS as error:
        raise UnavailableError(f"{told} ({error_name(error)})") from None
