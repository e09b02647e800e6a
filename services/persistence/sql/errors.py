"""Errors of the record's database, as its adapters raise them. SQLAlchemy is imported at the first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from services.persistence import sql
from shared.contracts.errors import UnavailableError


@contextmanager
def database_errors(told: str = "the record is unavailable") -> Iterator[None]:
    """Raise database errors as `UnavailableError`, `told` without their text: it may quote what people wrote."""
    try:
        yield
    except sql.database.ERRORS as error:
        raise UnavailableError(f"{told} ({sql.database.error_name(error)})") from None
