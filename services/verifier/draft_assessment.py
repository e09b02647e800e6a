"""The assessment of a draft: made once, and read by everything that decides what becomes of the draft.

The scores, by rule:

groundedness  share of the sentences that their passages support
relevancy     share of the question's stems that the answer, or the title of a page it cites, contains
completeness  of the question's stems that the passages contain at all, the share that the answer contains
overall       40 % groundedness, 40 % relevancy, 20 % completeness

The judge replaces the scores by its own, and decides which sentences are unsupported. What the rules know for certain
stays a fault whatever the judge says: a misleading citation, a number that is in no passage, a false quotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.verifier.judge import JudgeReply, ask_judge
from services.verifier.settings import VerifierSettings
from services.verifier.statements import misplaced_scope, reading_of, statement_support, statements
from shared.contracts.domain import Answer, Citation, JudgedBy, Passage, Scores, Sentence
from shared.contracts.facts import AnswerDrafted
from shared.language.analysis import all_stems, search_words, stems, written_language
from shared.language.citations import QUOTING_ENGINES, is_data, says_more
from shared.language.rules.grounding.evidence import SupportContext
from shared.language.rules.grounding.groundedness import SentenceSupport, quoting_support
from shared.language.sentence_roles import PLAIN_STEMS
from shared.llm.ports import Models
from shared.text.languages import UNKNOWN
from shared.text.urls import well_formed

#: The score that is enough for an engine that only quotes: it has judged by itself whether the passages answer, and a
#: short quote need not repeat the question.
QUOTES_PASS = 0.5
#: Types of answers that state nothing about the documents, so that there is nothing to check or to cite.
STATES_NOTHING = frozenset(["not_found", "clarification", "refusal", "emergency"])


#: Characters on both sides of a quotation that show what it is about.
_PLACE = 200


class Measures(NamedTuple):
    """What was measured of a draft; `sentences` are those that need a source, `support` is theirs in the same order.

    `language` is that of the passages, `written_in` that of the answer, and `reading` how they are compared. Sentences
    that must be quotes are in the language of their passages, and there is no `reading`. `citation_faults` is one text
    for each citation, empty where it is sound.
    """

    language: str
    written_in: str
    sentences: tuple[Sentence, ...]
    support: tuple[SentenceSupport, ...]
    numbering_faults: tuple[str, ...]
    citation_faults: tuple[str, ...]
    says_more: bool
    relevancy: float
    completeness: float
    reading: SupportContext | None = None

    def scores(self, unsupported: int) -> Scores:
        """The scores by rule when so many sentences are unsupported."""
        count = len(self.sentences)
        return weigh((count - unsupported) / count if count else 0.0, self.relevancy, self.completeness)


class DraftAssessment(NamedTuple):
    """What was found out about a draft.

    `scores` and `measures` are None where the draft states nothing or the pipeline wants no verification
    (`judged_by` is then `none`), `measures` also where the guard objected.
    `faults` contain no text of the question; `unsupported` are positions of sentences. A draft that does not pass has
    `feedback` for the next draft and a `rewritten_question` for the next search.
    """

    draft: AnswerDrafted
    passes: bool
    scores: Scores | None = None
    measures: Measures | None = None
    objected: bool = False
    faults: tuple[str, ...] = ()
    unsupported: tuple[int, ...] = ()
    judged_by: JudgedBy = "rules"
    feedback: str = ""
    rewritten_question: str = ""


def objected(draft: AnswerDrafted, objections: tuple[str, ...]) -> DraftAssessment:
    """The assessment of a draft that must not be shown."""
    return DraftAssessment(
        draft,
        passes=False,
        scores=weigh(0, 0, 0),
        objected=True,
        faults=objections,
        feedback="; ".join(objections),
        rewritten_question=next_query(draft, passage_language(draft)),
    )


def unchecked(draft: AnswerDrafted) -> DraftAssessment:
    """The assessment of a draft that the pipeline wants no verification of: it passes, without scores."""
    return DraftAssessment(draft, passes=True, judged_by="none")


def unjudged(assessment: DraftAssessment) -> DraftAssessment:
    """The same draft where only the judge may let it pass, and the judge did not: nothing of it is kept."""
    faults = assessment.faults or ("the judge did not answer",)
    draft = assessment.draft
    return DraftAssessment(
        draft,
        passes=False,
        scores=weigh(0, 0, 0),
        faults=faults,
        feedback="; ".join(faults),
        rewritten_question=next_query(draft, passage_language(draft)),
    )


async def assess(
    models: Models, draft: AnswerDrafted, settings: VerifierSettings, remaining: float, *, judge: bool
) -> DraftAssessment:
    """The assessment by the judge, or by the rules where it is not wanted, cannot reply, or is not needed.

    `remaining` are the seconds until the deadline.
    """
    measures = measure(draft)
    if judge:
        certain = by_rules(draft, measures, settings, overlap=False)
        if certain.faults:
            return certain
        reply = await ask_judge(models, draft, measures.sentences, settings, remaining)
        if reply is not None:
            return _by_judge(certain, reply, settings)
    return by_rules(draft, measures, settings)


def states_nothing(answer: Answer, citations: Sequence[Citation]) -> bool:
    """Whether there is nothing to check: structured data is checked as far as it cites documents."""
    if answer.type == "structured":
        return not citations and not any(sentence.citations for sentence in answer.sentences)
    return answer.type in STATES_NOTHING


def assess_unsourced(draft: AnswerDrafted) -> DraftAssessment:
    """The assessment of a draft that states nothing about the documents: what it says in its own words must be so.

    A refusal may say that the question belongs elsewhere, and `not_found` what the documents lack.
    """
    sentences, faults = draft.answer.sentences, []
    if sentences and draft.engine not in QUOTING_ENGINES and draft.answer.type in ("refusal", "not_found"):
        language = passage_language(draft)
        reading = reading_of(draft, language, comparable=_compatible(_written_in(draft), language))
        if draft.answer.type == "refusal" and misplaced_scope(draft, reading):
            faults.append("the refusal states more than that the question belongs elsewhere")
        elif draft.answer.type == "not_found" and statements(draft, sentences, reading):
            faults.append("the passages say what the answer says they lack")
    if not faults:
        return DraftAssessment(draft, passes=True)
    return DraftAssessment(
        draft,
        passes=False,
        scores=weigh(0, 0, 0),
        faults=tuple(faults),
        feedback="; ".join(faults),
        rewritten_question=next_query(draft, passage_language(draft)),
    )


def measure(draft: AnswerDrafted) -> Measures:
    """Everything about a draft that takes work to find out, and that no setting decides."""
    answer = draft.answer
    structured = answer.type == "structured"
    language = passage_language(draft)
    written_in, reading = language, None
    if draft.engine not in QUOTING_ENGINES:
        written_in = _written_in(draft)
        reading = reading_of(draft, language, comparable=_compatible(written_in, language))
    sentences = tuple(one for one in answer.sentences if one.citations or not structured)
    if reading is not None:
        sentences = statements(draft, sentences, reading)
    supports = support(draft, sentences, reading)
    misnumbered = numbering_faults(sentences, draft.citations)
    misleading = citation_faults(draft.citations, draft.passages)
    relevancy, completeness = _relevance(draft, sentences, language, written_in)
    return Measures(
        language=language,
        written_in=written_in,
        sentences=sentences,
        support=supports,
        numbering_faults=misnumbered,
        citation_faults=misleading,
        says_more=bool(sentences) and not structured and says_more(answer),
        relevancy=relevancy,
        completeness=completeness,
        reading=reading,
    )


def by_rules(
    draft: AnswerDrafted, measures: Measures, settings: VerifierSettings, *, overlap: bool = True
) -> DraftAssessment:
    """The assessment by rule. Without `overlap` only what is certain counts, because a judge reads the rest."""
    required = min_overlap(draft, measures, settings) if overlap or draft.engine in QUOTING_ENGINES else 0.0
    unsupported = tuple(at for at, one in enumerate(measures.support) if not one.suffices(required, judged=not overlap))
    faults = list(measures.numbering_faults)
    faulty = zip(draft.citations, measures.citation_faults, strict=True)
    faults += [f"citation {citation.number} {fault}" for citation, fault in faulty if fault]
    if unsupported:
        faults.append(f"{len(unsupported)} of {len(measures.sentences)} sentences are not in the passages they cite")
    if not measures.sentences:
        faults.append("the answer has no sentences")
    elif measures.says_more:
        faults.append("the answer says more than its sentences")
    if draft.engine not in QUOTING_ENGINES and is_data(draft.answer.content):
        faults.append("the answer is data instead of words")
    if draft.engine not in QUOTING_ENGINES and not _compatible(measures.written_in, draft.question.language):
        faults.append("the answer is not in the asker's language")
    scores = measures.scores(len(unsupported))
    needed = min(settings.threshold, QUOTES_PASS) if draft.engine in QUOTING_ENGINES else settings.threshold
    passes = not faults and scores.overall >= needed
    return DraftAssessment(
        draft,
        passes=passes,
        scores=scores,
        measures=measures,
        faults=tuple(faults),
        unsupported=unsupported,
        feedback="; ".join(faults) or _too_low(scores, needed),
        rewritten_question="" if passes else next_query(draft, measures.language),
    )


def min_overlap(draft: AnswerDrafted, measures: Measures, settings: VerifierSettings) -> float | None:
    """The share of a sentence's stems that its passages must have; None where it must be a quote.

    Stems of two languages cannot be compared; then only the numbers are.
    """
    if draft.engine in QUOTING_ENGINES:
        return None
    return settings.min_overlap if _compatible(measures.written_in, measures.language) else 0.0


def weigh(groundedness: float, relevancy: float, completeness: float) -> Scores:
    """The three scores and the overall score, to three decimals; used for the rules and for the judge."""
    overall = 0.4 * groundedness + 0.4 * relevancy + 0.2 * completeness
    return Scores(
        groundedness=round(groundedness, 3),
        relevancy=round(relevancy, 3),
        completeness=round(completeness, 3),
        overall=round(overall, 3),
    )


def next_query(draft: AnswerDrafted, language: str) -> str:
    """The question for the search that follows when the draft does not pass."""
    stated = stated_texts(draft.answer.sentences, draft.citations)
    return search_words(draft.question.standalone_text(draft.context), language, all_stems(stated, language))


def stated_texts(sentences: Sequence[Sentence], citations: Sequence[Citation]) -> tuple[str, ...]:
    """The texts of the sentences, and the titles of the pages they cite."""
    return (*(sentence.text for sentence in sentences), *(citation.title for citation in citations))


def _by_judge(certain: DraftAssessment, reply: JudgeReply, settings: VerifierSettings) -> DraftAssessment:
    count = len(certain.measures.sentences) if certain.measures else 0
    unsupported = tuple(sorted({number - 1 for number in reply.unsupported if 0 < number <= count}))
    faults = [f"{len(unsupported)} of {count} sentences are not in the passages, says the judge"] if unsupported else []
    scores = weigh(reply.groundedness, reply.relevancy, reply.completeness)
    passes = not faults and scores.overall >= settings.threshold
    advice = [reply.feedback] if reply.feedback else []
    rewritten = "" if passes else reply.rewritten_question or next_query(certain.draft, passage_language(certain.draft))
    return certain._replace(
        passes=passes,
        scores=scores,
        faults=tuple(faults),
        unsupported=unsupported,
        judged_by="judge",
        feedback="; ".join(faults + advice) or _too_low(scores, settings.threshold),
        rewritten_question=rewritten,
    )


def _too_low(scores: Scores, threshold: float) -> str:
    return (
        f"scored {scores.overall:.2f} where {threshold:.2f} is needed: relevancy {scores.relevancy:.2f}, "
        f"groundedness {scores.groundedness:.2f}, completeness {scores.completeness:.2f}"
    )


def _written_in(draft: AnswerDrafted) -> str:
    """The language that the answer is written in."""
    written = " ".join(sentence.text for sentence in draft.answer.sentences) or draft.answer.content
    return written_language(written, draft.question.language)


def _relevance(
    draft: AnswerDrafted, sentences: Sequence[Sentence], language: str, written_in: str
) -> tuple[float, float]:
    """The answer's relevancy and its completeness; without question stems both are 1.

    A sentence speaks of what its quotation speaks of: `It costs 120 dollars.` answers the question of what its passage
    says costs so much. Question and passages are compared in `language`, that of the passages. Where the answer is in
    another one, the question as it was asked is compared with the answer as well, and the better of both counts.
    """
    question = draft.question
    quotes: tuple[str, ...] = ()
    if draft.engine not in QUOTING_ENGINES:
        quotes = tuple(_quote_in_place(citation, draft.passages) for citation in draft.citations)
    stated = (*stated_texts(sentences, draft.citations), *quotes)
    found = _covered(question.standalone_text(draft.context), stated, draft.passages, language)
    translated = draft.engine not in QUOTING_ENGINES and not _compatible(written_in, language)
    if translated and _compatible(written_in, question.language):
        found = max(found, _covered(question.text, stated, draft.passages, written_in))
    return found


def _quote_in_place(citation: Citation, passages: Sequence[Passage]) -> str:
    """The quotation with what stands around it in its passage."""
    text = next((one.text for one in passages if one.id == citation.passage), "")
    at = text.find(citation.quote) if citation.quote else -1
    return text[max(0, at - _PLACE) : at + len(citation.quote) + _PLACE] if at >= 0 else ""


def _covered(text: str, stated: Sequence[str], passages: Sequence[Passage], language: str) -> tuple[float, float]:
    """The share of a question's stems that was stated, and of those of them that the passages have."""
    answered = all_stems(stated, language)
    stemmed = frozenset(stems(text, language))
    wanted = stemmed - PLAIN_STEMS or stemmed
    available = wanted & all_stems([part for one in passages for part in (one.text, one.title)], language)
    relevancy = len(wanted & answered) / len(wanted) if wanted else 1.0
    return relevancy, len(available & answered) / len(available) if available else 1.0


def passage_language(draft: AnswerDrafted) -> str:
    """The language of the passages cited, else of the question as it was searched for."""
    cited = {citation.passage for citation in draft.citations}
    known = (one.language for one in draft.passages if one.id in cited and one.language != UNKNOWN)
    return next(known, draft.question.search_language)


def _compatible(language: str, other: str) -> bool:
    """Whether two languages may be the same: an unknown one may be any."""
    return UNKNOWN in (language, other) or language == other


def support(
    draft: AnswerDrafted, sentences: Iterable[Sentence], reading: SupportContext | None
) -> tuple[SentenceSupport, ...]:
    """How much of each sentence stands in the passages that its citations name; without `reading` it must be quoted."""
    by_id = {passage.id: passage for passage in draft.passages}
    cited = {citation.number: by_id[citation.passage] for citation in draft.citations if citation.passage in by_id}
    found = []
    for sentence in sentences:
        passages = [cited[number] for number in sentence.citations if number in cited]
        if reading is None:
            found.append(quoting_support(sentence.text, passages))
        else:
            found.append(statement_support(draft, draft.answer.sentences, sentence, passages, reading))
    return tuple(found)


def numbering_faults(sentences: Iterable[Sentence], citations: Sequence[Citation]) -> tuple[str, ...]:
    """What is wrong with the numbers of citations; the messages contain no text of question or answer."""
    faults: list[str] = []
    numbers = [citation.number for citation in citations]
    known = frozenset(numbers)
    if numbers != list(range(1, len(numbers) + 1)):
        faults.append("the citations are not numbered 1, 2, 3")
    for position, sentence in enumerate(sentences, start=1):
        if not sentence.citations:
            faults.append(f"sentence {position} has no citation")
        elif not known.issuperset(sentence.citations):
            faults.append(f"sentence {position} names a citation that does not exist")
    return tuple(faults)


def citation_faults(citations: Iterable[Citation], passages: Iterable[Passage]) -> tuple[str, ...]:
    """What is wrong with each citation, in their order; empty where it leads where it says. Nothing is fetched."""
    by_id = {passage.id: passage for passage in passages}
    return tuple(_fault(citation, by_id.get(citation.passage)) for citation in citations)


def _fault(citation: Citation, passage: Passage | None) -> str:
    if passage is None:
        return "names no passage"
    if citation.source != passage.source:
        return "names another source than its passage"
    if citation.url and citation.url != passage.url:
        return "leads to another page than its passage"
    if citation.url and not well_formed(citation.url):
        return "has a malformed address"
    if citation.quote and citation.quote not in passage.text:
        return "quotes what its passage does not say"
    return ""
