"""The beginning of a text, at most a number of characters."""

from __future__ import annotations


def clipped(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis: at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
