"""The engine that quotes the best sentences of the passages verbatim, each with its citation. It needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from services.answer.answer_builder import not_found
from services.answer.citations import cite
from services.answer.engines.confidence import Judgement, calibrated, judge
from services.answer.engines.sentence_ranking import RankedStatement, Reading, choose, read
from services.answer.ports import AnswerTask, Draft
from shared.contracts.domain import Answer, Citation, Sentence
from shared.text.citations import with_markers
from shared.text.sanitizer import clean

#: So many of the considered sentences are explained.
EXPLAINED = 8


class ExtractiveEngine:
    """Plays `Engine` by rule."""

    async def draft(self, task: AnswerTask) -> Draft:
        """The shortest sufficient answer, or `not_found` when the passages hardly answer the question."""
        question, settings = task.question, task.settings
        reading = read(question.standalone_text(task.context), question.search_language, task.passages)
        chosen = choose(reading, most=settings.max_sentences, longest=settings.max_answer_chars)
        judgement = judge(reading, chosen, task.context.lexical_score)
        answered = bool(chosen) and judgement.answerable >= settings.min_answerable
        explanation = explain(reading, chosen if answered else (), judgement)
        if not answered:
            return (await not_found(task.passages, task))._replace(explanation=explanation)
        sentences, citations = quote(chosen)
        pieces = [with_markers(sentences[0])]
        for before, sentence in pairwise(sentences):
            apart = "\n" in before.text or "\n" in sentence.text  # code begins and ends on a line of its own
            pieces.append(("\n\n" if apart else " ") + with_markers(sentence))
        for piece in pieces:
            await task.tokens.write(piece)
        answer = Answer(content="".join(pieces), sentences=sentences)
        right = calibrated(judgement.right, settings.confidence_slope, settings.confidence_offset)
        return Draft(answer, citations, round(10 * right, 1), explanation=explanation)


def explain(reading: Reading, chosen: Sequence[RankedStatement], judgement: Judgement) -> dict[str, Any]:
    """Why these sentences: the most probable ones with their features, and what the judgement follows from.

    A sentence is named by its passage and its place there, so that the explanation holds no text of a document.
    """
    best = {id(one): one for one in (*reading.ranked[:EXPLAINED], *chosen)}
    taken = {id(one) for one in chosen}
    return {
        "asks_for": reading.query.kind.value,
        "answerable": round(judgement.answerable, 3),
        "right": round(judgement.right, 3),
        "figures": {name: round(value, 3) for name, value in judgement.figures.items()},
        "sentences": [
            {
                "passage": one.evidence.passage.id,
                "start": one.statement.start,
                "end": one.statement.end,
                "chosen": key in taken,
                "score": round(one.score, 2),
                "probability": round(one.probability, 3),
                "features": {name: round(value, 2) for name, value in one.features.items() if value},
            }
            for key, one in best.items()
        ],
    }


def quote(chosen: Sequence[RankedStatement]) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
    """The sentences and their citations: one citation for each run of consecutive sentences of a passage.

    A citation's quote is that run as it stands in the passage.
    """
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    begin, before = 0, None
    for current in chosen:
        passage, statement = current.evidence.passage, current.statement
        if (
            before
            and before.evidence is current.evidence
            and before.statement.end <= statement.start
            and not passage.text[before.statement.end : statement.start].strip()
        ):
            citations.pop()
        else:
            begin = statement.start
        citations.append(cite(len(citations) + 1, passage, passage.text[begin : statement.end]))
        sentences.append(Sentence(text=clean(statement.text), citations=(len(citations),)))
        before = current
    return tuple(sentences), tuple(citations)
