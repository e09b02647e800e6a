"""What a page says in JSON-LD and does not show: questions with answers, steps, opening hours, addresses."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from shared.documents.parsed_document import squeeze

_SCRIPT = re.compile(r"<script\b[^>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,500}>")
_MOST_CHARS, _MOST_NODES = 200_000, 2000
#: Properties that are text for people, by the type that has them.
_SAID = {
    "HowToStep": ("text",),
    "LocalBusiness": ("openingHours", "telephone", "priceRange"),
    "Product": ("description",),
    "Event": ("startDate", "endDate", "description"),
    "Recipe": ("recipeIngredient", "totalTime", "recipeYield"),
}


def linked_data(html: str) -> list[str]:
    """The texts in the JSON-LD of a page, each as a paragraph."""
    paragraphs: list[str] = []
    for script in _SCRIPT.finditer(html) if "ld+json" in html else ():
        if "ld+json" not in script[0]:
            continue
        end = html.find("</script", script.end(), script.end() + _MOST_CHARS)
        try:
            loaded = json.loads(html[script.end() : end])
        except (ValueError, RecursionError):
            continue
        paragraphs += (text for node in _nodes(loaded) for text in _said(node))
    return list(dict.fromkeys(filter(None, paragraphs)))


def _nodes(loaded: Any) -> Iterator[dict[str, Any]]:
    waiting, seen = deque([loaded]), 0
    while waiting and seen < _MOST_NODES:
        node = waiting.popleft()
        seen += 1
        if isinstance(node, dict):
            yield node
            waiting += (value for value in node.values() if isinstance(value, dict | list))
        elif isinstance(node, list):
            waiting += node


def _said(node: dict[str, Any]) -> Iterator[str]:
    kind = node.get("@type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    answer = node.get("acceptedAnswer")
    if isinstance(answer, list):
        answer = answer[0] if answer else None
    if kind == "Question" and isinstance(answer, dict):
        yield _text(f"{node.get('name') or ''} {answer.get('text') or ''}")
    for name in _SAID.get(str(kind), ()):
        value = node.get(name)
        values = value if isinstance(value, list) else [value]
        texts = [str(part) for part in values if isinstance(part, str | int | float)]
        if texts:
            label = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
            yield _text(", ".join(texts)) if name in ("text", "description") else _text(f"{label}: {', '.join(texts)}")


def _text(html: str) -> str:
    return squeeze(_TAG.sub(" ", html))
