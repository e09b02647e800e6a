"""What a search found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Passage:
    """A piece of a document; `score` can be compared within one search only."""

    id: str
    source: str
    text: str
    title: str = ""
    url: str = ""
    language: str = "und"
    score: float = 0.0
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Passage:
        texts = {name: str(raw.get(name) or "") for name in ("id", "source", "text", "title", "url")}
        return cls(**texts, language=str(raw.get("language", "und")), score=float(raw.get("score", 0.0)), raw=raw)


@dataclass(frozen=True)
class SearchResult:
    """Passages, best first; `took_ms` in milliseconds; `missing` says which retrievers failed, and why."""

    passages: tuple[Passage, ...]
    took_ms: float
    missing: Mapping[str, str]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> SearchResult:
        passages = tuple(map(Passage.read, raw["passages"]))
        return cls(passages, float(raw["took_ms"]), dict(raw.get("missing") or {}), raw)
