"""Parts that chat completions and responses share, made from a question's native JSON (`presenter.question_json`)."""

from __future__ import annotations

import re
from typing import Any

#: `[3]`, a marker of a citation.
_MARKER = re.compile(r"\[([0-9]{1,3})\]")


def content_of(question: dict[str, Any], *, sources: bool) -> str:
    """The answer's text, with its numbered sources below where they are asked for."""
    result = question["result"]
    text: str = result["answer"]["content"]
    if not (sources and result["citations"]):
        return text
    lines = [f"[{one['number']}] {one['title'] or one['source']} {one['url']}".rstrip() for one in result["citations"]]
    return "\n".join((f"{text}\n", *lines))


def url_citations(question: dict[str, Any]) -> list[dict[str, Any]]:
    """A citation for every marker in the text: `{start_index, end_index, title, url}`, offsets in characters.

    A document without an address has its id (`kb:guide.md`) as the url.
    """
    result = question["result"]
    known = {one["number"]: one for one in result["citations"]}
    return [
        {
            "start_index": marker.start(),
            "end_index": marker.end(),
            "title": known[int(marker[1])]["title"] or known[int(marker[1])]["source"],
            "url": known[int(marker[1])]["url"] or known[int(marker[1])]["source"],
        }
        for marker in _MARKER.finditer(result["answer"]["content"])
        if int(marker[1]) in known
    ]


def tokens_of(question: dict[str, Any]) -> tuple[int, int, int]:
    """Tokens that models read, wrote and had cached for the question; zero where no model was used."""
    usage = question["result"]["usage"]
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0), usage.get("cached_tokens", 0)


def extension_of(question: dict[str, Any]) -> dict[str, Any]:
    """The field `answerbus` of a reply: what the OpenAI API has no field for."""
    result = question["result"]
    return {
        "id": question["id"],
        "status": question["status"],
        "outcome": result["outcome"],
        "type": result["answer"]["type"],
        "conversation_id": question["conversation_id"],
        "confidence": result["confidence"],
        "citations": result["citations"],
        "followups": result["followups"],
        "payload": result["answer"]["payload"],
        "links": result["answer"]["links"],
        "tool_calls": result.get("tool_calls", []),
    }
