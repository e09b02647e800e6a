"""Finds names of people after a title, or where the writer states their own (English and French). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.language.rules.private_data.span import Span

_WORD = r"[^\W\d_][\w’'\-]{0,30}"
_BIG = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w’'\-]{0,30}"
_PARTICLE = r"(?:de|da|dos|van|von|der|den|du|la|le|al|el|bin|ibn|Mc|St\.|[A-ZÀ-Þ]\.)"
_NAME = rf"{_BIG}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_BIG}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_BIG})?)?"

_TITLED = re.compile(
    rf"\b(?:(?:Mr|Mrs|Ms|Mx|Dr|Prof|Mme|Mlle|Mgr|(?P<me>Me)|MM|Messrs|Pr)\b\.?|M\.|(?:Miss|Mister|Monsieur|Madame|Mademoiselle"
    rf"|Doctor|Docteur|Professor|Professeur|Maître|Sir|Dame)\b)[ ](?P<name>{_NAME})"
)
#: *Me* is a title (maître) only in French.
_FRENCH = re.compile(
    r"\b(?:le|la|les|des|du|est|avec|pour|par|chez|mon|ma|une?|que|qui|et|puis-je|avocate?|notaire)\b", re.IGNORECASE
)
_DECLARED = re.compile(
    rf"\b(?:my[ ](?:full[ ]|first[ ]|last[ ]|legal[ ]|maiden[ ])?(?:name|surname)(?:[ ]is|['’]s|[ ]was|:)"
    rf"|(?:i[ ]am|i['’]m)[ ](?:called|named)|call[ ]me|(?:this|it)[ ]is[ ](?=(?-i:[A-Z])\w+[ ](?:speaking|calling)\b)"
    rf"|je[ ]m['’ ]appelle|je[ ]me[ ](?:nomme|prénomme)|mon[ ](?:nom|prénom|nom[ ]complet)[ ](?:est|c['’]est|:))[ ]?"
    rf"(?P<name>{_WORD}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_WORD}){{0,2}})",
    re.IGNORECASE,
)
#: Words after "my name is" that do not begin a name, or end one.
_NOT_NAMES_TEXT = """not on in at the a an my your misspelled misspelt spelled spelt wrong incorrect different missing
    changed still now too very listed written showing used known correct right same no only also being
    so it its there this that what which and or but i im we you he she they is am are was were have has
    had do does did can could will would should want need please if when how where who why to from for
    with as of by live lives lived here speaking calling common long short et ou mais je j tu il elle
    nous vous pas mal bien sur dans le la les un une est suis ai mon ma mes que qui comment écrit erroné
    différent manquant changé toujours voudrais veux souhaite habite et, au aux pour before after who you
    your will never"""
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
#: Words after a title that are offices rather than names.
_OFFICES_TEXT = """President Minister Speaker Chair Chairman Chairwoman Secretary Justice Judge Mayor Governor Prime
    Ambassador Commissioner Director Premier Président Présidente Ministre Juge Maire Directeur
    Directrice Who What When Where How Why Le La Les"""
_OFFICES = frozenset(_OFFICES_TEXT.split())
#: Every declared name is preceded by one of these.
_DECLARING_WORDS = ("name", "nom", "called", "call me", "appelle", "speaking", "calling")


def names(text: str) -> Iterator[Span]:
    """Yields names after a title (without the title), then declared names."""
    for found in _TITLED.finditer(text):
        first = found["name"].split()[0]
        if first in _OFFICES or first.casefold() in _NOT_NAMES or len(first) < 2:
            continue
        if not (found["me"] and not _FRENCH.search(text)):
            yield Span("name", found.start("name"), found.end("name"))
    lowered = text.casefold()
    for found in _DECLARED.finditer(text) if any(word in lowered for word in _DECLARING_WORDS) else ():
        length = _name_length(found["name"])
        if length:
            yield Span("name", found.start("name"), found.start("name") + length)


def _name_length(text: str) -> int:
    """The length of the name at the beginning of the text that follows "my name is".

    It ends at a word that is not a name, or at a lower-case word where the name began with a capital.
    """
    length = position = 0
    words = text.split(" ")
    capitalised = words[0][:1].isupper()
    for word in words:
        end = position + len(word)
        if word.casefold() in _NOT_NAMES or (
            capitalised and length and word[:1].islower() and not re.fullmatch(_PARTICLE, word)
        ):
            break
        if word[:1].isupper() or not capitalised:
            length = end
        position = end + 1
    return length
