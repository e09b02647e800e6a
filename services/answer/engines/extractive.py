"""The engine that quotes the best sentences of the passages verbatim, each with its citation. It needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from services.answer.answer_builder import not_found
from services.answer.citations import cite
from services.answer.engines.sentence_ranking import RankedStatement, choose, confidence, coverage, read
from services.answer.ports import AnswerTask, Draft
from shared.contracts.domain import Answer, Citation, Sentence
from shared.text.citations import with_markers
from shared.text.sanitizer import clean


class ExtractiveEngine:
    """Plays `Engine` by rule."""

    async def draft(self, task: AnswerTask) -> Draft:
        """The best sentences, or `not_found` when they cover too little of the question."""
        question, settings = task.question, task.settings
        text = question.standalone_text(task.context)
        query, evidence = read(text, question.search_language, task.passages)
        ranked = choose(query, evidence, most=settings.max_sentences, longest=settings.max_answer_chars)
        if not ranked or coverage(query, ranked) < settings.min_coverage:
            return await not_found(task.passages, task)
        sentences, citations = quote(ranked)
        pieces = [with_markers(sentences[0]), *(f" {with_markers(sentence)}" for sentence in sentences[1:])]
        for piece in pieces:
            await task.tokens.write(piece)
        answer = Answer(content="".join(pieces), sentences=sentences)
        return Draft(answer, citations, confidence(query, evidence, ranked))


def quote(ranked: Sequence[RankedStatement]) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
    """The sentences and their citations: one citation for each run of consecutive sentences of a passage.

    A citation's quote is that run as it stands in the passage.
    """
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    begin, before = 0, None
    for current in ranked:
        passage, statement = current.evidence.passage, current.statement
        if (
            before
            and before.evidence is current.evidence
            and not passage.text[before.statement.end : statement.start].strip()
        ):
            citations.pop()
        else:
            begin = statement.start
        citations.append(cite(len(citations) + 1, passage, passage.text[begin : statement.end]))
        sentences.append(Sentence(text=clean(statement.text), citations=(len(citations),)))
        before = current
    return tuple(sentences), tuple(citations)
