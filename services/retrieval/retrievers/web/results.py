"""Turns the results of search engines into passages. Pure."""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterable, Mapping

from shared.contracts.domain import Passage
from shared.text.dates import day
from shared.text.urls import well_formed

WEB = "web"
_CHARS = 2000
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>")


def passages(found: Iterable[object], names: Mapping[str, str], *, language: str, limit: int) -> list[Passage]:
    """Results as passages, in their order; those without text or with an address that may not be shown are left out.

    `names` gives the keys under which a result has its `url`, `title`, `text` and `date`. The score is 1 for the first
    and falls with the rank, because engines give no comparable scores.
    """
    kept: dict[str, Passage] = {}
    for result in found:
        if len(kept) == limit:
            break
        result_fields = {part: _text(result, name) for part, name in names.items()}
        url = result_fields["url"]
        if url in kept or not result_fields["text"] or not well_formed(url):
            continue
        kept[url] = Passage(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, url)),
            source=f"{WEB}:{url}",
            text=result_fields["text"][:_CHARS],
            title=result_fields["title"][:200],
            url=url,
            language=language,
            end=min(len(result_fields["text"]), _CHARS),
            score=round(1 / (1 + len(kept)), 4),
            via=(WEB,),
            date=day(result_fields.get("date", "")),
        )
    return list(kept.values())


def _text(result: object, name: str) -> str:
    value = result.get(name) if isinstance(result, dict) else None
    if not isinstance(value, str):
        return ""
    return " ".join(html.unescape(_TAG.sub("", value)).split())
