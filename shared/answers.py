"""Parts of an answer's text that are not its sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from shared.domain import Link


def links_section(links: Iterable[Link]) -> str:
    """The pages under a heading, to stand at the end of a text; empty without pages."""
    lines = [f"- {link.url}" for link in links]
    return "\n\nLinks:\n" + "\n".join(lines) if lines else ""
