"""Ids in the addresses of routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

#: The id of a question, an erasure or anything else that has a correlation id: a uuid as hex digits.
ID_PATTERN = "^[0-9a-f]{32}$"

QuestionId = Annotated[str, Path(pattern=ID_PATTERN, description="The `id` that POST /questions returned.")]
