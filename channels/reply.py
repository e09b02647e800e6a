"""From the result of a question to what a chat is shown, or to silence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from answerbus_client import Question, Result


@dataclass(frozen=True, slots=True)
class ReplySource:
    """A document below an answer: `number` is that of `[1]` in the text, 0 for a document to read on."""

    number: int
    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """An answer as a chat gets it; `text` is Markdown. Without a question it is a text of the adapter's own."""

    text: str
    sources: tuple[ReplySource, ...] = ()
    question_id: str = ""
    conversation_id: str = ""
    outcome: str = ""


def reply_of(question: Question, silent_outcomes: Collection[str]) -> ChatReply | None:
    """The message to post; None where the pipeline says nothing, or `silent_outcomes` has the outcome.

    `silent_outcomes` names outcomes (`abandoned`) and types of answers (`not_found`).
    """
    result = question.result
    if result is None or not _speaks(result) or {result.outcome, result.answer.type} & set(silent_outcomes):
        return None
    notice = result.notice
    help_links = [f"[{link.title or link.url}]({link.url})" for link in notice.links if link.url] if notice else []
    parts = [*([notice.message] if notice else []), *help_links, result.answer.content]
    return ChatReply(
        "\n\n".join(parts), _sources(result), question.id, question.conversation_id, outcome=result.outcome
    )


def _speaks(result: Result) -> bool:
    rejection = result.raw.get("rejection") or {}
    silenced = False in (result.raw.get("reply"), rejection.get("reply"))
    return not silenced and bool(result.answer.content.strip())


def _sources(result: Result) -> tuple[ReplySource, ...]:
    """The citations by number, each once; then the links of the answer that are not among them."""
    numbered = {
        citation.number: ReplySource(citation.number, citation.title or citation.source, citation.url)
        for citation in result.citations
    }
    cited = {citation.url for citation in numbered.values()} | {citation.source for citation in result.citations}
    others = {
        link.url or link.source: ReplySource(0, link.title or link.source or link.url, link.url)
        for link in result.answer.links
        if (link.url or link.source) not in cited
    }
    return (*(numbered[number] for number in sorted(numbered)), *others.values())
