"""The rules: what can be said of a draft without a model. Pure."""

from __future__ import annotations

from services.verifier.citations import faults
from services.verifier.draft_assessment import Finding
from services.verifier.groundedness import says_more, unsupported
from services.verifier.scores import score
from services.verifier.settings import VerifierSettings
from shared.contracts.domain import Answer, Scores
from shared.contracts.facts import AnswerDrafted
from shared.text.analysis import guess_language, stop_words, words
from shared.text.languages import UNKNOWN

#: Engines that may only quote: each of their sentences must be in its passage word for word.
QUOTING = frozenset(["extractive"])
#: Kinds of answers that state nothing about the documents, so that there is nothing to check or to cite.
STATES_NOTHING = frozenset(["not_found", "clarification", "refusal", "emergency"])
#: A text of fewer words says too little of its language.
_SURE_WORDS = 8
#: Danish uses about so many of the function words of Norwegian.
_KINDRED = 0.6


def states_nothing(drafted: AnswerDrafted) -> bool:
    """Whether there is nothing to check: structured data is checked as far as it cites documents."""
    answer = drafted.answer
    if answer.type == "structured":
        return not drafted.citations and not any(sentence.citations for sentence in answer.sentences)
    return answer.type in STATES_NOTHING


def stating(answer: Answer) -> Answer:
    """What there is to check: of structured data, the sentences that cite."""
    if answer.type != "structured":
        return answer
    return answer.model_copy(update={"sentences": tuple(one for one in answer.sentences if one.citations)})


def examine(drafted: AnswerDrafted, settings: VerifierSettings, *, overlap: bool = True) -> Finding:
    """All checks at once. Without `overlap` only the numbers of a sentence are looked for: a judge reads the rest."""
    answer, language, spoken = stating(drafted.answer), language_of(drafted), answer_language(drafted)
    # Words of two languages cannot be compared.
    least = settings.min_overlap if overlap and alike(spoken, language) else 0.0
    missing = unsupported(
        answer,
        drafted.citations,
        drafted.passages,
        language=language,
        least=None if drafted.engine in QUOTING else least,
    )
    found = faults(answer, drafted.citations, drafted.passages)
    if missing:
        found.append(f"{len(missing)} of {len(answer.sentences)} sentences are not in the passages they cite")
    if not answer.sentences:
        found.append("the answer has no sentences")
    elif answer.type != "structured" and says_more(answer):
        found.append("the answer says more than its sentences")
    if drafted.engine not in QUOTING and not alike(spoken, drafted.question.language):
        found.append("the answer is not in the asker's language")
    return Finding(tuple(found), tuple(missing), scored(drafted, unsupported=len(missing)))


def scored(drafted: AnswerDrafted, *, unsupported: int) -> Scores:
    """The scores by rule, in the language that question and answer share."""
    spoken, question = answer_language(drafted), drafted.question
    translated = drafted.engine not in QUOTING and not alike(spoken, language_of(drafted))
    own = translated and alike(spoken, question.language)
    return score(
        question.text if own else asked_text(drafted),
        stating(drafted.answer),
        drafted.citations,
        drafted.passages,
        language=spoken if own else language_of(drafted),
        unsupported=unsupported,
    )


def asked_text(drafted: AnswerDrafted) -> str:
    """The question as it was searched for: standing on its own, in the language of the documents."""
    return drafted.context.standalone_question or drafted.question.search_text


def language_of(drafted: AnswerDrafted) -> str:
    """The language of the passages cited, else of the question as it was searched for."""
    cited = {citation.passage for citation in drafted.citations}
    spoken = (p.language for p in drafted.passages if p.id in cited and p.language != UNKNOWN)
    question = drafted.question
    return next(spoken, question.pivot_language if question.pivot_language != UNKNOWN else question.language)


def answer_language(drafted: AnswerDrafted) -> str:
    """The language the answer is surely written in; a few words, or words of kindred languages, are the asker's."""
    text = " ".join(sentence.text for sentence in drafted.answer.sentences) or drafted.answer.content
    asked, spoken = drafted.question.language, words(text)
    if len(spoken) < _SURE_WORDS:
        return asked
    found = guess_language(text)
    kindred = _share(spoken, asked) >= _KINDRED * _share(spoken, found)
    return asked if kindred else found


def _share(spoken: list[str], language: str) -> int:
    """How many of the words are function words of that language."""
    return sum(word in stop_words(language) for word in spoken)


def alike(one: str, other: str) -> bool:
    """Whether two languages may be the same: one that is not known may be any."""
    return UNKNOWN in (one, other) or one == other
