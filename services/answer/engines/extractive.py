"""The engine that quotes: the best sentences of the passages, word for word, each with its citation. No model."""

from __future__ import annotations

from collections.abc import Sequence

from services.answer.engines.sentence_ranking import Choice, choose, confidence, coverage, language_of, read
from services.answer.ports import Draft, Speech
from services.answer.settings import DEFAULT_NOT_FOUND, AnswerSettings
from shared.contracts.domain import Answer, Citation, Link, Passage, Sentence
from shared.contracts.envelope import Envelope
from shared.contracts.facts import PassagesRetrieved
from shared.text.languages import localised
from shared.text.sanitizer import clean
from shared.text.urls import well_formed


class Extractive:
    """Plays `Engine` by rule."""

    async def draft(
        self, retrieved: PassagesRetrieved, settings: AnswerSettings, speak: Speech, envelope: Envelope
    ) -> Draft:
        """The best sentences, or an honest `not_found` when they speak of too little of the question."""
        question = retrieved.question
        text = retrieved.context.standalone_question or question.search_text
        asked, evidence = read(text, language_of(question), retrieved.passages)
        choices = choose(asked, evidence, most=settings.max_sentences, longest=settings.max_answer_chars)
        if not choices or coverage(asked, choices) < settings.min_coverage:
            answer = not_found(question.language, retrieved.passages, settings)
            await speak(answer.content)
            return Draft(answer)
        answer, citations = compose(choices)
        for piece in pieces(answer):
            await speak(piece)
        return Draft(answer, citations, confidence(asked, evidence, choices))


def compose(choices: Sequence[Choice]) -> tuple[Answer, tuple[Citation, ...]]:
    """The answer and its citations: one for each run of sentences that follow one another in a passage.

    A citation's quote is that run as it stands in the passage.
    """
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    begin, before = 0, None
    for choice in choices:
        passage, stated = choice.evidence.passage, choice.statement
        if (
            before
            and before.evidence is choice.evidence
            and not passage.text[before.statement.end : stated.start].strip()
        ):
            citations.pop()
        else:
            begin = stated.start
        citations.append(_cite(len(citations) + 1, passage, passage.text[begin : stated.end]))
        sentences.append(Sentence(text=clean(stated.text), citations=(len(citations),)))
        before = choice
    answer = Answer(content="", sentences=tuple(sentences))
    return answer.model_copy(update={"content": "".join(pieces(answer))}), tuple(citations)


def pieces(answer: Answer) -> list[str]:
    """The content, sentence by sentence, each with the numbers of its citations: `It is free. [1]`."""
    marked = (" ".join((s.text, *(f"[{number}]" for number in s.citations))) for s in answer.sentences)
    return [text if index == 0 else f" {text}" for index, text in enumerate(marked)]


def not_found(language: str, passages: Sequence[Passage], settings: AnswerSettings) -> Answer:
    """Says in the asker's language that there is no answer, and links the closest pages."""
    links = {p.url: Link(url=p.url, title=p.title) for p in reversed(passages) if well_formed(p.url)}
    closest = tuple(reversed(links.values()))[: settings.max_links]
    content = localised(settings.not_found or DEFAULT_NOT_FOUND, language)
    return Answer(content=content, type="not_found", links=closest)


def _cite(number: int, passage: Passage, quote: str) -> Citation:
    """A source whose address no browser should follow is cited without one."""
    return Citation(
        number=number,
        source=passage.source,
        passage=passage.id,
        title=passage.title,
        url=passage.url if well_formed(passage.url) else "",
        quote=quote,
    )
