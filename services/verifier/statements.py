"""Which sentences of a draft state something that needs a source, and whether those that only speak of it are so. Pure.

A lead-in, `Yes.`, a sentence that says what the documents lack, and a referral need no source, as long as they are
true: a `yes` must agree with what follows, what is said to be lacking must be lacking, and whom a referral names must
be known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.contracts.domain import Passage, Sentence
from shared.contracts.facts import AnswerDrafted
from shared.language.analysis import sentences as sentence_spans
from shared.language.analysis import stem_set, stems
from shared.language.polarity import Polarity, opposed, polarity
from shared.language.quantities import quantities
from shared.language.rules.grounding.evidence import SupportContext
from shared.language.rules.grounding.groundedness import SentenceSupport, sentence_support
from shared.language.sentence_roles import PLAIN_STEMS, ReadSentence, Role, has_figures, read_sentence, subject_of
from shared.text.addresses import KnownAddresses, addresses

#: The share of what a sentence says is lacking that a place in the passages must have to prove it wrong.
_PRESENT = 0.8
#: The share of a referral's or lead-in's subject that must be known.
_KNOWN = 0.5
#: Words that ask for a quantity of a kind: what is lacking is present only where such a quantity stands.
_ASKED_KINDS = {
    "money": re.compile(r"\b(?:cost|costs|price|prices|fee|fees|charge|how much|prix|tarif|cout|coute|combien"
                        r"|precio|cuesta"
                        r"|tarifa|cuanto|preis|kosten|kostet|gebuhr|wie viel)\b"),
    "time": re.compile(r"\b(?:how long|duration|when|deadline|how often|combien de temps|duree|quand|delai"
                       r"|cuanto tiempo"
                       r"|duracion|cuando|plazo|wie lange|dauer|wann|frist)\b"),
    "": re.compile(r"\b(?:how many|number of|combien de|nombre de|cuantos|cuantas|wie viele|anzahl)\b"),
}  # fmt: skip
_CLOCK_KINDS = frozenset(["time", "clock", "date", "weekday"])
_FENCE = re.compile(r"^`{3,}[\w+-]*$")
_TABLE_HEAD = re.compile(r"\|[ \t]*:?-{2,}:?[ \t]*\|")
_HEADING = re.compile(r"^(?:#{1,6}\s.*|\*\*[^*\n]{1,80}\*\*:?)$")


def reading_of(draft: AnswerDrafted, language: str, *, comparable: bool) -> SupportContext:
    """How the sentences of a draft are compared with passages in `language`."""
    question = draft.question
    earlier = [part for turn in question.turns for part in (turn.question, turn.answer)]
    known = [question.text, question.search_text, draft.context.standalone_question, *draft.context.notes, *earlier]
    if draft.effect:
        known.append(draft.effect.text)
    return SupportContext(language, comparable, "\n".join(dict.fromkeys(known)), draft.passages)


def statements(draft: AnswerDrafted, sentences: Sequence[Sentence], reading: SupportContext) -> tuple[Sentence, ...]:
    """The sentences that need a source; where none does, those that are not mere lead-ins."""
    needing = tuple(one for at, one in enumerate(sentences) if _needs_source(draft, sentences, at, reading))
    if needing or draft.answer.type == "not_found":
        return needing
    return tuple(one for one in sentences if read_sentence(one.text).role is not Role.LEAD_IN)


def statement_support(
    draft: AnswerDrafted,
    sentences: Sequence[Sentence],
    sentence: Sentence,
    cited: Sequence[Passage],
    reading: SupportContext,
) -> SentenceSupport:
    """How far a sentence that needs a source has one in the passages it cites."""
    read = read_sentence(sentence.text)
    if read.role is Role.ABSENCE:
        return SentenceSupport(False, fault="absence" if _present(read.rest, draft, reading) else "")
    if read.role not in (Role.YES, Role.NO):
        return sentence_support(read.rest, cited, reading)
    if not _agrees(draft, sentences, sentence, read, cited, reading):
        return SentenceSupport(False, fault="yes-no")
    return sentence_support(read.rest, cited, reading) if read.rest else SentenceSupport(False)


def misplaced_scope(draft: AnswerDrafted, reading: SupportContext) -> bool:
    """Whether a refusal says more than that the question belongs elsewhere: figures or names without a source."""
    known = f"{reading.known}\n{_text_of(draft.passages)}"
    return any(not _harmless(one.text, known, reading) for one in draft.answer.sentences)


def _needs_source(draft: AnswerDrafted, sentences: Sequence[Sentence], at: int, reading: SupportContext) -> bool:
    text = sentences[at].text
    read = read_sentence(text)
    if _FENCE.match(text.strip()):
        return False
    if read.role is Role.CLAIM and not (_TABLE_HEAD.search(text) or _HEADING.match(text.strip())):
        return True
    if read.role in (Role.YES, Role.NO):
        if read.rest or not _follows(sentences, at):
            return True
        return not _agrees(draft, sentences, sentences[at], read, _cited(draft), reading)
    if read.role is Role.ABSENCE:
        return _present(read.rest, draft, reading)
    known = f"{reading.known}\n{_text_of(draft.passages)}"
    listed = sum(1 for one in sentences[at + 1 :] if one.text)
    counts = {max(one.values) for one in quantities(text) if not one.kind}
    counted = read.role is Role.LEAD_IN and counts <= set(map(float, range(1, listed + 1)))
    return not (_harmless(text, known, reading) and (counted or not counts))


def _harmless(text: str, known: str, reading: SupportContext) -> bool:
    """Whether it names nothing that is not known: no other address, figure or name, and no other subject."""
    has = KnownAddresses([known])
    if any(one not in has for one in addresses(text)):
        return False
    if has_figures(text):
        whole = Passage(id="known", source="known", text=known)
        return sentence_support(text, [whole], reading).suffices(_KNOWN)
    subject = subject_of(text, reading.language)
    if not subject or not reading.comparable:
        return True
    return len(subject & stem_set(known, reading.language)) >= _KNOWN * len(subject)


def _text_of(passages: Sequence[Passage]) -> str:
    return "\n".join(f"{one.title}\n{one.text}\n{one.url}" for one in passages)


# --- yes and no ---


def _follows(sentences: Sequence[Sentence], at: int) -> bool:
    return any(read_sentence(one.text).role is Role.CLAIM for one in sentences[at + 1 :])


def _agrees(
    draft: AnswerDrafted,
    sentences: Sequence[Sentence],
    sentence: Sentence,
    read: ReadSentence,
    cited: Sequence[Passage],
    reading: SupportContext,
) -> bool:
    """Whether `yes` or `no` agrees with what is said next, or else with what the cited passages say of the question."""
    position = next((at for at, one in enumerate(sentences) if one.text == sentence.text), len(sentences))
    following = next((one.text for one in sentences[position + 1 :] if read_sentence(one.text).role is Role.CLAIM), "")
    claim = read.rest or following
    question = draft.question.text
    asked = polarity(question, reading.language)
    for text in (claim, _closest(question, cited or _cited(draft), reading)):
        stated = polarity(text, reading.language)
        shared = ((asked.denied | asked.positive) & (stated.denied | stated.positive)) - PLAIN_STEMS
        contrary = opposed(stated, asked)
        denies = bool(stated.negations) or bool(stated.negative_words - asked.words) or bool(contrary)
        if not text or asked.negations:
            continue
        if read.role is Role.YES:
            return not (contrary or (shared & stated.denied))
        if denies:
            return True
    if read.role is Role.NO and _denied_somewhere(asked, cited or _cited(draft), reading):
        return True
    return bool(claim) and bool(asked.negations or read.role is Role.YES)


def _denied_somewhere(asked: Polarity, cited: Sequence[Passage], reading: SupportContext) -> bool:
    """Whether a sentence of the passages denies something of the question that is not in their titles."""
    for passage in cited:
        subject = (asked.denied | asked.positive) - PLAIN_STEMS - stem_set(passage.title, reading.language)
        for start, end in sentence_spans(passage.text):
            stated = polarity(passage.text[start:end], reading.language)
            if stated.negations and subject & (stated.denied | stated.positive):
                return True
    return False


def _cited(draft: AnswerDrafted) -> tuple[Passage, ...]:
    cited = {citation.passage for citation in draft.citations}
    return tuple(passage for passage in draft.passages if passage.id in cited)


def _closest(question: str, cited: Sequence[Passage], reading: SupportContext) -> str:
    """The sentence of the cited passages that shares most with the question, if it shares half of it."""
    wanted = frozenset(stems(question, reading.language)) - PLAIN_STEMS
    best, most = "", 0
    for passage in cited:
        for start, end in sentence_spans(passage.text):
            shared = len(wanted & stem_set(passage.text[start:end], reading.language))
            if shared > most:
                best, most = passage.text[start:end], shared
    return best if most >= _KNOWN * len(wanted) else ""


# --- what is lacking ---


def _present(text: str, draft: AnswerDrafted, reading: SupportContext) -> bool:
    """Whether the passages say what the sentence says they lack."""
    subject = subject_of(text, reading.language)
    if not subject or not reading.comparable:
        return False
    plain = text.casefold()
    kinds = [kind for kind, pattern in _ASKED_KINDS.items() if pattern.search(plain)]
    subject -= frozenset().union(*(stem_set(" ".join(_words_of(kind, plain)), reading.language) for kind in kinds))
    if not subject:
        return False
    for passage in draft.passages:
        title = stem_set(passage.title, reading.language)
        for start, end in sentence_spans(passage.text):
            said = passage.text[start:end]
            found = subject & (stem_set(said, reading.language) | title)
            own = subject & stem_set(said, reading.language)
            if own and len(found) >= _PRESENT * len(subject) and all(_has_kind(said, kind) for kind in kinds):
                return True
    return False


def _words_of(kind: str, text: str) -> list[str]:
    return _ASKED_KINDS[kind].findall(text)


def _has_kind(text: str, kind: str) -> bool:
    found = quantities(text)
    if kind == "time":
        return any(one.kind in _CLOCK_KINDS for one in found)
    return any(one.kind == kind for one in found)
