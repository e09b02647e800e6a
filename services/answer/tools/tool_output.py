"""How tools present rows to the model: one JSON object per line, in a block of data."""

from __future__ import annotations

from collections.abc import Sequence

from shared.contracts.domain import Value
from shared.llm.prompt_blocks import block

#: The longest block, in characters.
LIMIT = 8000


def json_rows(name: str, rows: Sequence[Value]) -> str:
    """A block called `name` with the rows; fields that have their default value are left out."""
    return block(name, "\n".join(row.model_dump_json(exclude_defaults=True) for row in rows), limit=LIMIT)
