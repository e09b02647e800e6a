"""Parts that chat completions and responses share, made from a question's state ."""

from __future__ import annotations

import re
from typing import Any

from services.gateway.streaming.result import QuestionResult, QuestionState

#: `[3]`, a marker of a citation.
_MARKER = re.compile(r"\[([0-9]{1,3})\]")


def content_of(result: QuestionResult, *, sources: bool) -> str:
    """The answer's text, with its numbered sources below where they are asked for."""
    text = result.answer.content
    if not (sources and result.citations):
        return text
    lines = [
        f"[{citation.number}] {citation.title or citation.source} {citation.url}".rstrip()
        for citation in result.citations
    ]
    return "\n".join((f"{text}\n", *lines))


def url_citations(result: QuestionResult) -> list[dict[str, Any]]:
    """A citation for every marker in the text: `{start_index, end_index, title, url}`, offsets in characters.

    A document without an address has its id (`kb:guide.md`) as the url.
    """
    known = {citation.number: citation for citation in result.citations}
    return [
        {
            "start_index": marker.start(),
            "end_index": marker.end(),
            "title": citation.title or citation.source,
            "url": citation.url or citation.source,
        }
        for marker in _MARKER.finditer(result.answer.content)
        if (citation := known.get(int(marker[1])))
    ]


def tokens_of(result: QuestionResult) -> tuple[int, int, int]:
    """Tokens that models read, wrote and had cached for the question; zero where no model was used."""
    usage = result.usage
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0), usage.get("cached_tokens", 0)


def extension_of(question: QuestionState) -> dict[str, Any]:
    """The field `answerbus` of a reply: what the OpenAI API has no field for."""
    result = question.ending
    return {
        "id": question.id,
        "status": question.status,
        "outcome": result.outcome,
        "type": result.answer.type,
        "conversation_id": question.conversation_id,
        "confidence": result.confidence,
        "citations": [citation.model_dump() for citation in result.citations],
        "followups": result.followups,
        "payload": result.answer.payload,
        "links": [link.model_dump() for link in result.answer.links],
        "tool_calls": result.tool_calls,
    }
