"""What may be shown of a draft that did not pass, and the best of several. Pure.

A sentence that is not supported is left out, and so is a citation that leads elsewhere; what is left holds as much as a
draft that passed, it is only less of an answer.
"""

from __future__ import annotations

from collections import Counter

from services.verifier.citations import misleading
from services.verifier.draft_assessment import Finding
from services.verifier.groundedness import says_more
from services.verifier.rules import QUOTING, scored
from shared.contracts.domain import Answer, Attempts, Citation, KeptDraft, Passage, Refutation, Sentence
from shared.contracts.facts import AnswerDrafted
from shared.text.urls import well_formed

#: Bytes of JSON: an event stays under 64 KB, and carries this beside its passages.
DRAFT_BYTES, PASSAGE_BYTES, TOOL_BYTES = 12_000, 8_000, 3_000
FEEDBACK_CHARS = 600


def with_refuted(drafted: AnswerDrafted, attempt: int, finding: Finding, feedback: str, *, leaked: bool) -> Attempts:
    """The earlier attempts and this one; nothing is kept of a draft that says what it must not."""
    refutation = Refutation(
        attempt=attempt,
        feedback=feedback[:FEEDBACK_CHARS],
        scores=finding.scores,
        judged_by=finding.judged_by,
    )
    earlier = drafted.earlier
    rivals = [earlier.best, None if leaked else kept(drafted, attempt, finding)]
    drafts = [draft for draft in rivals if draft is not None]
    best = max(drafts, key=lambda draft: (draft.scores.overall, draft.attempt), default=None)
    return Attempts(refuted=(*earlier.refuted, refutation), best=best)


def kept(drafted: AnswerDrafted, attempt: int, finding: Finding) -> KeptDraft | None:
    """The draft without what does not hold; None when nothing does, or when it is too long to carry on."""
    if not finding.faults:
        answer, citations, scores = drafted.answer, drafted.citations, finding.scores
    else:
        answer, citations = _cut(drafted, frozenset(finding.missing))
        if not answer.sentences:
            return None
        left = drafted.model_copy(update={"answer": answer, "citations": citations})
        scores = scored(left, unsupported=0)
    draft = KeptDraft(
        attempt=attempt,
        answer=answer,
        citations=citations,
        confidence=drafted.confidence,
        scores=scores,
        judged_by="rules" if finding.faults else finding.judged_by,
        engine=drafted.engine,
        tool_calls=drafted.tool_calls if len(repr(drafted.tool_calls).encode()) <= TOOL_BYTES else (),
    )
    if len(draft.model_dump_json().encode()) > DRAFT_BYTES + TOOL_BYTES:
        return None
    return draft.model_copy(update={"passages": _fitting(drafted.passages, citations)})


def _cut(drafted: AnswerDrafted, missing: frozenset[int]) -> tuple[Answer, tuple[Citation, ...]]:
    """The sentences that are supported by citations that lead where they say, renumbered."""
    answer = drafted.answer
    if answer.type == "structured":
        return Answer(content=""), ()  # its data belong to its text, and cannot be cut with it
    twice = {number for number, count in Counter(one.number for one in drafted.citations).items() if count > 1}
    wrong = {one.number for one in misleading(drafted.citations, drafted.passages)} | twice
    sound = {one.number: one for one in drafted.citations if one.number not in wrong}
    left = [
        sentence.model_copy(update={"citations": tuple(n for n in sentence.citations if n in sound)})
        for index, sentence in enumerate(answer.sentences)
        if index not in missing
    ]
    left = [sentence for sentence in left if sentence.citations]
    numbers = {number: new for new, number in enumerate(sorted({n for s in left for n in s.citations}), start=1)}
    citations = tuple(sound[old].model_copy(update={"number": new}) for old, new in numbers.items())
    sentences = tuple(
        sentence.model_copy(update={"citations": tuple(numbers[n] for n in sentence.citations)}) for sentence in left
    )
    untouched = sentences == answer.sentences and not says_more(answer)
    content = answer.content if untouched else " ".join(map(_marked, sentences))
    links = tuple(link for link in answer.links if well_formed(link.url))
    return Answer(content=content, type=answer.type, sentences=sentences, links=links), citations


def _marked(sentence: Sentence) -> str:
    """A sentence with the numbers of its citations: `It is free. [1]`."""
    return " ".join((sentence.text, *(f"[{number}]" for number in sentence.citations)))


def _fitting(passages: tuple[Passage, ...], citations: tuple[Citation, ...]) -> tuple[Passage, ...]:
    cited = {citation.passage for citation in citations}
    fitting, room = [], PASSAGE_BYTES
    for passage in passages:
        if passage.id in cited:
            room -= len(passage.model_dump_json().encode())
            if room < 0:
                break
            fitting.append(passage)
    return tuple(fitting)


def same_again(drafted: AnswerDrafted) -> bool:
    """Whether the draft is the best one of before once more: trying again would not change it."""
    best = drafted.earlier.best
    return best is not None and best.engine in QUOTING and best.answer.content == drafted.answer.content
