"""The evaluation of an answer: every sentence and every citation scored, as experts do. Pure.

A sentence gets 100 when one of the passages it cites has it word for word, 80 when they have enough of its words (or
the judge finds it supported), else 0. A citation gets 25 when each sentence that names it is in its passage alone, 20
when some are, and 0 when none is, when nobody names it, or when it does not lead where it says.
"""

from __future__ import annotations

from services.verifier.citations import misleading
from services.verifier.draft_assessment import Finding
from services.verifier.groundedness import quoted, spoken_of
from services.verifier.rules import QUOTING, alike, answer_language, examine, language_of, states_nothing, stating
from services.verifier.settings import VerifierSettings
from shared.contracts.domain import (
    AnswerEvaluation,
    Citation,
    CitationScore,
    CitationVerdict,
    Passage,
    Question,
    Sentence,
    SentenceScore,
    SentenceVerdict,
)
from shared.contracts.facts import AnswerDrafted, AnswerVerified
from shared.contracts.requests.persistence import Exchange

#: A correlation id ends in random digits; so many of them choose the sample.
_DIGITS = 8


def evaluated(drafted: AnswerDrafted, settings: VerifierSettings, finding: Finding | None = None) -> AnswerEvaluation:
    """The evaluation by rule; `finding` is the judge's, whose scores and unsupported sentences then count."""
    found = finding or examine(drafted, settings)
    by_id = {passage.id: passage for passage in drafted.passages}
    cited = {one.number: by_id[one.passage] for one in drafted.citations if one.passage in by_id}
    sentences = stating(drafted.answer).sentences
    return AnswerEvaluation(
        scores=found.scores,
        sentences=tuple(
            _sentence(sentence, cited, supported=at not in found.missing) for at, sentence in enumerate(sentences)
        ),
        citations=tuple(
            CitationVerdict(number=one.number, source=one.source, score=_citation(one, drafted, sentences, settings))
            for one in drafted.citations
        ),
        judged_by=found.judged_by,
    )


def inline(verified: AnswerVerified, settings: VerifierSettings) -> AnswerVerified:
    """The answer with its evaluation, where it states anything; the scores are those it passed with."""
    drafted = of_answer(verified)
    if states_nothing(drafted):
        return verified
    evaluation = evaluated(drafted, settings)
    if verified.scores is not None:
        evaluation = evaluation.model_copy(update={"scores": verified.scores, "judged_by": verified.judged_by})
    return verified.model_copy(update={"evaluation": evaluation})


def of_answer(verified: AnswerVerified) -> AnswerDrafted:
    """What there is to evaluate of a verified answer."""
    return AnswerDrafted(
        question=verified.question,
        answer=verified.answer,
        citations=_as_cited(verified.citations),
        passages=verified.passages,
        context=verified.context,
        engine=verified.engine,
    )


def of_record(exchange: Exchange) -> AnswerDrafted | None:
    """What there is to evaluate of an exchange on record; None where no answer was written for it."""
    if exchange.outcome != "answered" or exchange.answer is None:
        return None
    return AnswerDrafted(
        question=Question(text=exchange.question, language=exchange.language),
        answer=exchange.answer,
        citations=_as_cited(exchange.citations),
        passages=exchange.passages,
        context=exchange.context,
        engine=exchange.engine,
    )


def sampled(correlation_id: str, share: float) -> bool:
    """Whether this question is among the share that is evaluated; always the same for the same question."""
    return int(correlation_id[-_DIGITS:], 16) / float(16**_DIGITS) < share


def _as_cited(citations: tuple[Citation, ...]) -> tuple[Citation, ...]:
    """Without the addresses that checking them came to: those need not be the passages' any more."""
    return tuple(one.model_copy(update={"url": ""}) if one.checked else one for one in citations)


def _sentence(sentence: Sentence, cited: dict[int, Passage], *, supported: bool) -> SentenceVerdict:
    sources = [cited[number] for number in sentence.citations if number in cited]
    score: SentenceScore = 0
    if supported:
        score = 100 if quoted(sentence.text, sources) else 80
    return SentenceVerdict(text=sentence.text, supported=supported, score=score, citations=sentence.citations)


def _citation(
    citation: Citation, drafted: AnswerDrafted, sentences: tuple[Sentence, ...], settings: VerifierSettings
) -> CitationScore:
    naming = [sentence for sentence in sentences if citation.number in sentence.citations]
    if not naming or misleading([citation], drafted.passages):
        return 0
    passages = [passage for passage in drafted.passages if passage.id == citation.passage]
    language = language_of(drafted)
    # Words of two languages cannot be compared; then the numbers are.
    least = settings.min_overlap if alike(answer_language(drafted), language) else 0.0
    held = sum(
        quoted(one.text, passages) or (drafted.engine not in QUOTING and spoken_of(one.text, passages, language, least))
        for one in naming
    )
    return 25 if held == len(naming) else 20 if held else 0
