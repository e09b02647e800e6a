"""What may be shown of a draft that did not pass, and the best of several such drafts. Pure.

Unsupported sentences and misleading citations are cut out. What is left is as well supported as a draft that passed;
it only answers less of the question.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from services.verifier.draft_assessment import DraftAssessment, measure
from shared.contracts.domain import Answer, Attempts, Citation, KeptDraft, Passage, Refutation
from shared.contracts.facts import AnswerDrafted
from shared.text.citations import with_markers
from shared.text.urls import well_formed

#: Limits in bytes of JSON: an event stays under 64 KB, and carries the kept draft beside its passages.
DRAFT_BYTES, PASSAGE_BYTES, TOOL_BYTES = 12_000, 8_000, 3_000
FEEDBACK_CHARS = 600


def with_refuted(assessment: DraftAssessment, attempt: int) -> Attempts:
    """The earlier attempts and this one; nothing is kept of a draft that the guard objected to."""
    refutation = Refutation(
        attempt=attempt,
        feedback=assessment.feedback[:FEEDBACK_CHARS],
        scores=assessment.scores,
        judged_by=assessment.judged_by,
    )
    earlier = assessment.draft.earlier
    candidates = [draft for draft in (earlier.best, kept(assessment, attempt)) if draft is not None]
    best = max(candidates, key=lambda draft: (draft.scores.overall, draft.attempt), default=None)
    return Attempts(
        refuted=(*earlier.refuted, refutation),
        best=best,
        effect=assessment.draft.effect,
        tool_calls=_fitting_calls(all_tool_calls(assessment.draft)),
    )


def all_tool_calls(draft: AnswerDrafted) -> tuple[dict[str, Any], ...]:
    """The tool calls of the earlier attempts and of this one, oldest first."""
    return (*draft.earlier.tool_calls, *draft.tool_calls)


def _fitting_calls(calls: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """The newest calls that fit into an event, in their order."""
    kept, room = [], TOOL_BYTES
    for call in reversed(calls):
        room -= len(repr(call).encode())
        if room < 0:
            break
        kept.append(call)
    return tuple(reversed(kept))


def kept(assessment: DraftAssessment, attempt: int) -> KeptDraft | None:
    """The draft without what does not hold; None when nothing holds, or when it is too long for an event."""
    draft, scores = assessment.draft, assessment.scores
    if assessment.measures is None or scores is None:
        return None
    answer, citations = draft.answer, draft.citations
    if assessment.faults:
        answer, citations = _cut(assessment)
        if not answer.sentences:
            return None
        # The cut changes what question and answer share, so the scores are measured again.
        scores = measure(draft.model_copy(update={"answer": answer, "citations": citations})).scores(unsupported=0)
    best = KeptDraft(
        attempt=attempt,
        answer=answer,
        citations=citations,
        confidence=draft.confidence,
        scores=scores,
        judged_by="rules" if assessment.faults else assessment.judged_by,
        engine=draft.engine,
        tool_calls=draft.tool_calls if len(repr(draft.tool_calls).encode()) <= TOOL_BYTES else (),
    )
    if len(best.model_dump_json().encode()) > DRAFT_BYTES + TOOL_BYTES:
        return None
    return best.model_copy(update={"passages": _fitting(draft.passages, citations)})


def _cut(assessment: DraftAssessment) -> tuple[Answer, tuple[Citation, ...]]:
    """The supported sentences with their sound citations, renumbered from 1."""
    draft, measures = assessment.draft, assessment.measures
    answer = draft.answer
    if answer.type == "structured" or measures is None:
        return Answer(content=""), ()  # structured data belongs to its text, and cannot be cut with it
    counts = Counter(citation.number for citation in draft.citations)
    faulty = {one.number for one, fault in zip(draft.citations, measures.citation_faults, strict=True) if fault}
    sound = {one.number: one for one in draft.citations if counts[one.number] == 1 and one.number not in faulty}
    supported = [
        sentence.model_copy(update={"citations": tuple(n for n in sentence.citations if n in sound)})
        for position, sentence in enumerate(answer.sentences)
        if position not in assessment.unsupported
    ]
    supported = [sentence for sentence in supported if sentence.citations]
    old_numbers = sorted({number for sentence in supported for number in sentence.citations})
    numbers = {old: new for new, old in enumerate(old_numbers, start=1)}
    citations = tuple(sound[old].model_copy(update={"number": new}) for old, new in numbers.items())
    sentences = tuple(
        sentence.model_copy(update={"citations": tuple(numbers[n] for n in sentence.citations)})
        for sentence in supported
    )
    unchanged = sentences == answer.sentences and not measures.says_more
    content = answer.content if unchanged else " ".join(map(with_markers, sentences))
    links = tuple(link for link in answer.links if well_formed(link.url))
    return Answer(content=content, type=answer.type, sentences=sentences, links=links), citations


def _fitting(passages: tuple[Passage, ...], citations: tuple[Citation, ...]) -> tuple[Passage, ...]:
    """The cited passages, as many as fit into an event."""
    cited = {citation.passage for citation in citations}
    fitting, room = [], PASSAGE_BYTES
    for passage in passages:
        if passage.id in cited:
            room -= len(passage.model_dump_json().encode())
            if room < 0:
                break
            fitting.append(passage)
    return tuple(fitting)
