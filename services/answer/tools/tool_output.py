"""Rows as the model reads them: one JSON object a line, in a block of data."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.domain import Value
from shared.llm.prompt_blocks import block

#: Longest result, in characters.
LIMIT = 8000


def told(name: str, rows: Sequence[Value]) -> str:
    """The rows without what is empty in them."""
    return block(name, "\n".join(row.model_dump_json(exclude_defaults=True) for row in rows), limit=LIMIT)
