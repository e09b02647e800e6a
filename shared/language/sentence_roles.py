"""What a sentence of an answer does: it states something, leads in, says yes or no, names a gap, refers. Pure.

Only statements need a source. A sentence that says what the documents lack is true where they lack it; a referral may
name only what has a source. Known by their forms in English, French, Spanish and German.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from shared.language.analysis import fold, stem_set
from shared.language.packs import PackFile, Patterns, Phrases, Words, either, once, phrase, read
from shared.language.quantities import quantities


class Role(Enum):
    """What a sentence does."""

    CLAIM = "claim"
    LEAD_IN = "lead-in"
    YES = "yes"
    NO = "no"
    ABSENCE = "absence"
    REFERRAL = "referral"


class ReadSentence(NamedTuple):
    """A sentence's role, and what of it is left to check (of `Yes, it is free.` the part after the comma)."""

    role: Role
    rest: str


class RoleWords(PackFile):
    """Forms by which the role of a sentence is known, without accents and in lower case.

    A sentence states an absence where any of `documents`, `denials` and `telling` (verbs) come together, with
    `prepositions` before the documents, or where any of `absences` matches, in which `{documents}`, `{telling}` and
    `{gap}` (some words) represent the others. `referrals` and `fillers` begin a sentence; `yes` and `no` are its
    particles. `plain` are words that lead in, refer or ask and say nothing of a subject.
    """

    file = "roles"
    documents: Patterns = ()
    telling: Phrases = ()
    denials: Patterns = ()
    prepositions: Words = ()
    absences: Patterns = ()
    referrals: Patterns = ()
    yes: Words = ()
    no: Words = ()
    fillers: Patterns = ()
    plain: Words = ()


_WORDS = read(RoleWords)
_ALL = tuple(_WORDS.values())
_DOCUMENTS = either(once(words.documents for words in _ALL))
_TELL = phrase(words.telling for words in _ALL)
_NOT = either(once(words.denials for words in _ALL))
_IN = phrase(words.prepositions for words in _ALL)
_GAP = r"[^.!?\n]{0,60}?"
_ABSENT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_DOCUMENTS}\b{_GAP}\b{_NOT}\b{_GAP}\b{_TELL}\b",  # The passages do not say …
        rf"\b{_DOCUMENTS}\b\s(?:\w+\s){{0,3}}?{_TELL}\b{_GAP}\b{_NOT}\b",
        rf"\b{_NOT}\b{_GAP}\b{_TELL}\b{_GAP}\b{_IN}\s(?:\w+\s){{0,3}}{_DOCUMENTS}\b",
        *(
            absence.replace("{documents}", _DOCUMENTS).replace("{telling}", _TELL).replace("{gap}", _GAP)
            for absence in once(words.absences for words in _ALL)
        ),
    )
)
_REFERRAL = re.compile(rf"^{either(once(words.referrals for words in _ALL))}")
_YES = frozenset(once(words.yes for words in _ALL))
_PARTICLES = phrase([_YES, *(words.no for words in _ALL)])
_PARTICLE = re.compile(rf"^[\s*_>-]*+({_PARTICLES})(?!\w)[*_]*+\s*+[,.:;!–—-]?\s*+")
_LEADING = re.compile(r"([^:\n|`]{3,80}?)\s?:\s+(?=\S)")
_FILLER = re.compile(rf"^{either(once(words.fillers for words in _ALL))}\b")
#: Stems that say nothing of a subject; of all languages together.
PLAIN_STEMS = frozenset(
    fold(word) for language, words in _WORDS.items() for word in stem_set(" ".join(words.plain), language)
)


@lru_cache(maxsize=4096)
def read_sentence(text: str) -> ReadSentence:
    """The role of a sentence, without looking at any source."""
    said = _without_lead_in(text.strip().strip("*_ ").strip())
    plain = _flat(said)
    particle = _PARTICLE.match(plain)
    if particle and (len(particle[0]) == len(plain) or particle[0].rstrip()[-1:] in ",.:;!–—-"):
        rest = said[len(particle[0]) :].strip()
        return ReadSentence(Role.YES if particle[1] in _YES else Role.NO, rest)
    if any(pattern.search(plain) for pattern in _ABSENT):
        return ReadSentence(Role.ABSENCE, said)
    if _REFERRAL.match(plain):
        return ReadSentence(Role.REFERRAL, said)
    if said.endswith((":", "：")) or _FILLER.match(plain):
        return ReadSentence(Role.LEAD_IN, said)
    return ReadSentence(Role.CLAIM, said)


def _without_lead_in(text: str) -> str:
    """`Here is what you need: a photo.` -> `a photo.`; a beginning that names a subject stays."""
    begin = _LEADING.match(text)
    if begin and any(not subject_of(begin[1], language) for language in _WORDS):
        return text[begin.end() :]
    return text


def states_absence(text: str) -> bool:
    """Whether the sentence says that the documents lack something."""
    return read_sentence(text).role is Role.ABSENCE


def subject_of(text: str, language: str) -> frozenset[str]:
    """The stems of a lead-in, a referral or an absence that name a subject, without the stems of its form."""
    return frozenset(stem for stem in stem_set(_flat(_without_form(text)), language) if stem not in PLAIN_STEMS)


def has_figures(text: str) -> bool:
    """Whether it has a number that more than counts what follows."""
    return any(quantity.kind or max(quantity.values) > 12 for quantity in quantities(text))


def _without_form(text: str) -> str:
    """An absence without the words that say that something is absent."""
    plain = _flat(text)
    for pattern in _ABSENT:
        found = pattern.search(plain)
        if found:
            return f"{plain[: found.start()]} {plain[found.end() :]}"
    return plain


def _flat(text: str) -> str:
    """Folded, in lower case, every character in its place as far as folding allows."""
    flat = "".join(fold(char)[:1].lower() or " " for char in text)
    return flat.replace("’", "'").replace("'", " ")
