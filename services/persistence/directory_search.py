"""Who and what fits a request: by the words they share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from shared.contracts.errors import NotFoundError, RefusedError
from shared.contracts.payloads import ContentItem, Expert
from shared.text.analysis import normalise, stems
from shared.text.languages import UNKNOWN, code3

T = TypeVar("T")

#: Words that say only that somebody is looked for.
_ASKING = frozenset(stems("expert talk someone somebody person help need want session book article video content"))


def fitting_experts(
    experts: Iterable[Expert], *, topic: str, session_type: str, language: str, limit: int
) -> tuple[Expert, ...]:
    """Those who take such sessions and speak the language, best match of the topic first.

    A topic that nobody's words share is no reason to send anybody away empty-handed: then all of them are told.
    """
    spoken = code3(language)
    able = [
        expert
        for expert in experts
        if (
            not session_type
            or not expert.session_types
            or normalise(session_type) in map(normalise, expert.session_types)
        )
        and (spoken == UNKNOWN or not expert.languages or spoken in map(code3, expert.languages))
    ]
    return tuple(_ranked(able, topic, _of_expert) or able)[:limit]


def fitting_content(
    items: Iterable[ContentItem], *, topic: str, kind: str, language: str, limit: int
) -> tuple[ContentItem, ...]:
    """Items of that kind about the topic, those in the language first; nothing when none is about it."""
    spoken = code3(language)
    able = [item for item in items if not kind or item.kind == kind]
    found = _ranked(able, topic, _of_item) if frozenset(stems(topic)) - _ASKING else able
    return tuple(sorted(found, key=lambda item: spoken not in (UNKNOWN, code3(item.language))))[:limit]


def named(experts: Sequence[Expert], name: str) -> Expert:
    """The expert of that id or name.

    Raises:
        NotFoundError: there is none.
        RefusedError: several could be meant.
    """
    wanted = normalise(name).strip()
    found = [expert for expert in experts if wanted in (normalise(expert.id), normalise(expert.name))]
    if not found:
        parts = frozenset(wanted.replace(".", " ").split()) - {"dr", "prof", "mr", "ms", "mrs"}
        found = [one for one in experts if parts and parts <= frozenset(normalise(one.name).replace(".", " ").split())]
    if not found:
        raise NotFoundError("nobody of that name is in the directory; search_experts says who is")
    if len(found) > 1:
        raise RefusedError(f"several people could be meant: {', '.join(f'{one.name} ({one.id})' for one in found[:5])}")
    return found[0]


def _ranked(found: Sequence[T], topic: str, said: Callable[[T], tuple[frozenset[str], frozenset[str]]]) -> list[T]:
    """Those that share words with the topic, most first; a word among the topics counts twice."""
    wanted = frozenset(stems(topic)) - _ASKING
    if not wanted:
        return list(found)
    scored = []
    for at, one in enumerate(found):
        topics, further = said(one)
        score = 2 * len(wanted & topics) + len(wanted & (further - topics))
        if score:
            scored.append((-score, at, one))
    return [one for _, _, one in sorted(scored, key=lambda each: each[:2])]


def _of_expert(expert: Expert) -> tuple[frozenset[str], frozenset[str]]:
    further = " ".join((expert.name, expert.title, expert.about))
    return frozenset(stems(" ".join(expert.topics))), frozenset(stems(further))


def _of_item(item: ContentItem) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(stems(" ".join(item.topics))), frozenset(stems(f"{item.title} {item.summary}"))
