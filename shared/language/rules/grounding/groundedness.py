"""How far a sentence of a draft stands in the passages that it cites, by rule. Pure.

Compared are words (stems), quantities by value and unit, names, denials and opposites. What only the meaning of other
words turns round is not noticed here: the judge is for that. Where the sentence is in another language than its
passages words cannot be compared, and quantities, identifiers and addresses decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from shared.contracts.domain import Passage
from shared.language.analysis import normalise, sentences, stem_set, stems, stop_words, words
from shared.language.citations import plain
from shared.language.polarity import Polarity, opposed, polarity, turned_round
from shared.language.quantities import Quantity, contradicts, matches, quantities, stands_as
from shared.language.rules.grounding.name_places import name_in_another_place
from shared.language.sentence_roles import PLAIN_STEMS
from shared.text.addresses import REMOVED, KnownAddresses, addresses

#: Sentences of passages that together support a sentence of an answer.
_UNION = 3
#: A clause of so many stems needs this share of them in the evidence; less is an addition that nobody wrote.
_CLAUSE_STEMS, _CLAUSE_SHARE = 3, 0.3
#: An evidence sentence that shares this much of a sentence is about the same thing.
_SAME, _SAME_OPPOSITE = 0.5, 0.6
#: Another passage that supports a sentence by so much more shows that the citation is wrong.
_BETTER, _ENOUGH = 0.25, 0.75
#: Stems around a value or a name that say what it belongs to, and how many more a rival must share.
_CONTEXT, _MARGIN = 4, 2
#: A sentence of so many stems or fewer is short.
_SHORT = 2


class SentenceSupport(NamedTuple):
    """How much of a sentence stands in a set of passages.

    `quoted`: one of them has it word for word. `numbers`: together they have every quantity of it, and every address.
    `matched` of its `stems` distinct stems occur in the sentences nearest to it. `fault`: what it says otherwise than
    its passages (`identifier`, `name`, `denial`, `opposite`, `value`, `addition`, `citation`), or that what it says of
    them is not so (`yes-no`, `absence`); empty: nothing that is noticed.
    """

    quoted: bool
    numbers: bool = True
    matched: int = 0
    stems: int = 0
    fault: str = ""

    def suffices(self, min_overlap: float | None, *, judged: bool = False) -> bool:
        """Whether the sentence counts as supported.

        `min_overlap` is the share of stems that is enough; None accepts only quotes. Where a sentence is `judged` by a
        model as well, only what is certain counts: quantities, addresses and identifiers.
        """
        if self.quoted or min_overlap is None:
            return self.quoted
        if not self.numbers or self.fault == "identifier":
            return False
        return judged or (not self.fault and self.matched >= min_overlap * self.stems)


class SupportContext(NamedTuple):
    """How sentences are compared: stems by the rules of `language`, not at all unless `comparable`.

    `known` is what the sentence may name beside its passages: the question, and what was said before it. `others` are
    all passages of the draft.
    """

    language: str
    comparable: bool = True
    known: str = ""
    others: tuple[Passage, ...] = ()


class _Evidence(NamedTuple):
    """A sentence of a passage."""

    text: str
    stems: frozenset[str]


def quoted(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether one of the passages has the sentence word for word, on word boundaries."""
    wanted = plain(sentence)
    return bool(words(sentence)) and any(_contains(plain(passage.text), wanted) for passage in passages)


def quoting_support(sentence: str, passages: Sequence[Passage]) -> SentenceSupport:
    """The support of a sentence that must be a quote."""
    return SentenceSupport(quoted(sentence, passages))


def sentence_support(sentence: str, passages: Sequence[Passage], reading: SupportContext) -> SentenceSupport:
    """How much of a sentence stands in the passages."""
    said = _unmarked(sentence)
    if _quoted_whole(said, passages):
        return SentenceSupport(quoted=True)
    numbers = _quantities_found(said, passages, reading) and _addresses_found(said, passages, reading)
    if not reading.comparable:
        fault = "" if _names_found(_identifiers(said), passages, reading) else "identifier"
        return SentenceSupport(False, numbers, fault=fault)
    wanted = _content_stems(said, reading.language)
    near = _nearest(wanted, passages, reading.language)
    present = _title_stems(passages, reading.language).union(*(one.stems for one in near))
    fault = _fault(said, wanted, near, passages, reading) if numbers else ""
    # A short sentence is little more than its figures: they count like words.
    figures = len(quantities(said)) if numbers and len(wanted) <= _SHORT else 0
    return SentenceSupport(False, numbers, len(wanted & present) + figures, len(wanted) + figures, fault)


def _fault(
    said: str, wanted: frozenset[str], near: Sequence[_Evidence], passages: Sequence[Passage], reading: SupportContext
) -> str:
    """The first fault that is found, from the certain to the less certain."""
    language = reading.language
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("identifier", lambda: not _names_found(_identifiers(said), passages, reading)),
        ("name", lambda: not _names_found(_proper_names(said, language), passages, reading)),
        ("name", lambda: _subject_replaced(said, wanted, near, reading)),
        ("name", lambda: _name_in_another_place(said, near, passages, reading)),
        ("denial", lambda: _denied(said, wanted, passages, language)),
        ("opposite", lambda: _opposite(said, wanted, passages, language)),
        ("value", lambda: _misplaced(said, passages, reading)),
        ("value", lambda: _free_instead_of_paid(said, wanted, passages, reading)),
        ("addition", lambda: _adds(said, passages, reading)),
        ("citation", lambda: _other_is_better(said, wanted, near, passages, reading)),
    )
    return next((fault for fault, found in checks if found()), "")


class _Placed(NamedTuple):
    """A sentence of a passage with the stems of its own and of what it goes on from: the one before, and the title."""

    text: str
    stems: frozenset[str]
    context: frozenset[str]
    before: frozenset[str]


def _placed(passages: Iterable[Passage], language: str) -> list[_Placed]:
    found = []
    for passage in passages:
        title, before = stem_set(passage.title, language), frozenset[str]()
        for one in _evidence(passage.text, language):
            found.append(_Placed(one.text, one.stems, one.stems | before | title, before))
            before = one.stems
    return found


def _denied(said: str, wanted: frozenset[str], passages: Sequence[Passage], language: str) -> bool:
    """Whether a sentence of the passages denies what the sentence states, or states what it denies.

    Where another one that is as near says the same, nothing is denied.
    """
    stated, placed = polarity(said, language), _near_first(said, wanted, passages, language)
    for one, near in placed:
        about = turned_round(stated, polarity(one.text, language), one.before)
        if about and near and len(wanted & one.context) >= _SAME * len(wanted):
            same = (
                other_near
                for other, other_near in placed
                if about <= other.stems and not turned_round(stated, polarity(other.text, language), other.before)
            )
            if max(same, default=0.0) < near:
                return True
    return False


def _opposite(said: str, wanted: frozenset[str], passages: Sequence[Passage], language: str) -> bool:
    """Whether a sentence of the passages has the opposite of a word of the sentence, and none as near has the word."""
    stated, figures = polarity(said, language), quantities(said)
    placed = _near_first(said, wanted, passages, language)
    for one, near in placed:
        if _says_opposite(stated, figures, wanted, one, language):
            own = stem_set(" ".join(opposed(stated, polarity(one.text, language))), language)
            same = (other_near for other, other_near in placed if own & other.stems)
            if max(same, default=0.0) < near + len(own):
                return True
    return False


def _near_first(
    said: str, wanted: frozenset[str], passages: Sequence[Passage], language: str
) -> list[tuple[_Placed, float]]:
    """The sentences of the passages with how near each is, the nearest first."""
    figures = quantities(said)
    found = [(one, _nearness(wanted, figures, one)) for one in _placed(passages, language)]
    return sorted(found, key=lambda placed: -placed[1])


def _nearness(wanted: frozenset[str], figures: Sequence[Quantity], one: _Placed) -> float:
    """How much a sentence of a passage shares with a sentence of an answer; 0 if it shares nothing of its own."""
    shared = sum(any(matches(each, other) for other in quantities(one.text)) for each in figures)
    own = len(wanted & one.stems) + shared
    return own + 0.25 * len(wanted & one.context - one.stems) if own else 0.0


def _says_opposite(
    stated: Polarity, figures: Sequence[Quantity], wanted: frozenset[str], one: _Placed, language: str
) -> bool:
    """Whether the evidence is about the same thing, figures included, and has the opposite of a word of the
    sentence."""
    evidence = polarity(one.text, language)
    words_opposed = opposed(stated, evidence)
    if not words_opposed or any(one_.of_verb for one_ in (*stated.negations, *evidence.negations)):
        return False
    given = quantities(one.text)
    if not all(any(matches(each, other) for other in given) for each in figures):
        return False
    rest = wanted - stem_set(" ".join(words_opposed), language)
    return bool(figures or rest & one.stems) and len(rest & one.context) >= _SAME_OPPOSITE * len(rest)


# --- words ---


def _unmarked(sentence: str) -> str:
    """The sentence without list markers, emphasis and heading signs, and with the text of links before their
    address."""
    text = re.sub(r"^[ \t]*(?:[-*+•>#|]+|\(?\d{1,3}[.)])[ \t]+", "", sentence.strip())
    text = re.sub(r"\[([^\[\]]{0,300})\]\(([^()\s]{0,2000})\)", r"\1 \2", text)
    return re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text).strip()


@lru_cache(maxsize=4096)
def _content_stems(text: str, language: str) -> frozenset[str]:
    """The stems of a sentence that have a meaning, without those of its quantities, which are compared by value."""
    kept, at = [], 0
    for one in quantities(text):
        if one.start >= at:
            kept.append(text[at : one.start])
            at = one.end
    found = frozenset(stem for stem in stems(" ".join((*kept, text[at:])), language) if not stem.isdigit())
    return found - PLAIN_STEMS or (frozenset() if at else found)


_ROWS = re.compile(r"\|[^|\n]*\n[^|\n]*\|")


@lru_cache(maxsize=512)
def _evidence(text: str, language: str) -> tuple[_Evidence, ...]:
    found = [text[start:end] for start, end in sentences(text)]
    rows = [row for one in found for row in (one.splitlines() if _ROWS.search(one) else [one])]  # rows of a table
    return tuple(_Evidence(row, stem_set(row, language)) for row in rows if row.strip())


def _title_stems(passages: Iterable[Passage], language: str) -> frozenset[str]:
    return frozenset().union(*(stem_set(passage.title, language) for passage in passages))


def _nearest(wanted: frozenset[str], passages: Iterable[Passage], language: str) -> list[_Evidence]:
    """The sentences of the passages that together share most of the stems, the nearest first."""
    left = [one for passage in passages for one in _evidence(passage.text, language) if one.stems & wanted]
    chosen: list[_Evidence] = []
    missing = wanted
    while left and len(chosen) < _UNION:
        best = max(left, key=lambda one: (len(one.stems & missing), len(one.stems & wanted), -len(one.stems)))
        if not best.stems & missing:
            break
        chosen.append(best)
        left.remove(best)
        missing -= best.stems
    return chosen


def _other_is_better(
    said: str, wanted: frozenset[str], near: Sequence[_Evidence], passages: Sequence[Passage], reading: SupportContext
) -> bool:
    """Whether a passage that is not cited supports the sentence by far better than the cited ones."""
    cited = {passage.id for passage in passages}
    if not wanted:
        return False
    own = len(wanted & _title_stems(passages, reading.language).union(*(one.stems for one in near))) / len(wanted)
    for other in reading.others:
        if other.id in cited:
            continue
        found = _nearest(wanted, [other], reading.language)
        share = len(wanted & frozenset().union(*(one.stems for one in found))) / len(wanted)
        if share >= max(_ENOUGH, own + _BETTER) and _quantities_found(said, [other], reading):
            return True
    return False


_BETWEEN_CLAUSES = re.compile(
    r"[;:()\u2013\u2014]|,\s|\b(?:and|but|which|that|because|so|while|et|mais|qui|car|y|pero|que|und|aber|weil|dass)\b"
)


def _adds(said: str, passages: Sequence[Passage], reading: SupportContext) -> bool:
    """Whether a clause of the sentence has next to nothing of the passages and of the question."""
    known = stem_set(reading.known, reading.language) | _title_stems(passages, reading.language)
    present = known.union(*(one.stems for passage in passages for one in _evidence(passage.text, reading.language)))
    for clause in _BETWEEN_CLAUSES.split(said):
        wanted = _content_stems(clause, reading.language)
        if len(wanted) >= _CLAUSE_STEMS and len(wanted & present) < _CLAUSE_SHARE * len(wanted):
            return True
    return False


# --- quotes ---


def _quoted_whole(said: str, passages: Sequence[Passage]) -> bool:
    """Whether a passage has the sentence word for word, and nothing around it in its sentence that may turn it
    round."""
    if not quoted(said, passages):
        return False
    wanted = plain(said)
    for passage in passages:
        text = plain(passage.text)
        at = text.find(wanted)
        while at >= 0:
            before = re.split(r"[.!?]\s", text[max(0, at - 200) : at])[-1]
            after = re.split(r"[.!?](?:\s|$)", text[at + len(wanted) : at + len(wanted) + 200])[0]
            whole = not before.strip(" -*|>#\"'`") and (wanted[-1:] in ".!?" or not after.strip(" -*|\"'`"))
            around = polarity(f"{before}, {after}", "eng")
            if whole or not (around.negations or around.negative_words or _conditional(f"{before} {after}")):
                return True
            at = text.find(wanted, at + 1)
    return False


_CONDITION = re.compile(r"\b(?:if|unless|only|except|until|not|si|sauf|seulement|wenn|falls|nur|solo|salvo)\b")


def _conditional(text: str) -> bool:
    return bool(_CONDITION.search(text)) or bool(re.search(r"\b(?:no|not|cannot|never|pas|nicht|nunca)\s*$", text))


def _contains(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_within_word(text, at) or _within_word(text, end)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _within_word(text: str, at: int) -> bool:
    """Whether position `at` lies within a word of a script that puts spaces between words."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum() and text[at - 1 : at + 1].isascii()


# --- quantities and addresses ---


def _quantities_found(said: str, passages: Sequence[Passage], reading: SupportContext) -> bool:
    """Whether every quantity of the sentence is one of the passages, in the same unit and the same bounds."""
    given = [one for passage in passages for text in (passage.text, passage.title) for one in quantities(text)]
    bare = _bare_numbers(passages, reading.language)
    asked = quantities(reading.known)
    tokens = frozenset(re.findall(r"[^\W_]+", normalise(" ".join(f"{p.title} {p.text}" for p in passages))))
    found_any, only_asked = False, False
    for one in _told(said, given):
        if one.spelled and not one.kind and max(one.values) <= 2:
            continue  # `one`, `second`: articles and words of order more often than numbers
        equal = [other for other in given if matches(one, other) and (other.kind or not one.kind or one.kind == "date")]
        equal += [other for other, near in bare if stands_as(one, other, near)] if not equal else []
        if equal:
            found_any = True
            if all(contradicts(one, other) for other in equal):
                return False
        elif one.spelled and not one.kind and frozenset(words(said[one.start : one.end])) <= tokens:
            continue
        elif not one.kind and _as_digits(one, tokens):
            found_any = True
        elif any(matches(one, other) for other in asked):
            only_asked = True
        elif one.kind != "period" or any(other.kind in ("period", "rate") for other in given):
            return False
    return found_any or not only_asked or bool(polarity(said, reading.language).negations)


def _told(said: str, given: Sequence[Quantity]) -> list[Quantity]:
    """The quantities of a sentence: the sum of `1 hour 30 minutes` where the passages have it, else its parts."""
    found = quantities(said)
    kept = []
    for one in found:
        parts = [other for other in found if other is not one and one.start <= other.start and other.end <= one.end]
        wholes = [other for other in found if other is not one and other.start <= one.start and one.end <= other.end]
        if parts and not any(matches(one, other) for other in given):
            continue
        if any(matches(whole, other) for whole in wholes for other in given):
            continue
        kept.append(one)
    return kept


def _bare_numbers(passages: Sequence[Passage], language: str) -> list[tuple[Quantity, frozenset[str]]]:
    """The numbers without unit, with the words that may name it: of its clause, or of the whole text around a table."""
    found = []
    for passage in passages:
        for one in _evidence(passage.text, language):
            row = "|" in one.text
            for clause in [one.text] if row else _BETWEEN_CLAUSES.split(one.text):
                near = frozenset(re.findall(r"[^\W_]+", normalise(passage.text if row else clause)))
                found += [(each, near) for each in quantities(clause) if not each.kind]
    return found


def _as_digits(one: Quantity, tokens: frozenset[str]) -> bool:
    """Whether the number stands in a name of the passages, such as the port of an address."""
    return any(f"{value:.0f}" in tokens for value in one.values if value == int(value) and value < 1e12)


def _addresses_found(said: str, passages: Sequence[Passage], reading: SupportContext) -> bool:
    if REMOVED in said and not any(REMOVED in passage.text for passage in passages):
        return False
    if not (stated := addresses(said)):
        return True
    known = KnownAddresses([reading.known, *(part for p in passages for part in (p.text, p.url))])
    known.add(" ".join(other.url for other in reading.others))
    return all(address in known for address in stated)


def _misplaced(said: str, passages: Sequence[Passage], reading: SupportContext) -> bool:
    """Whether a quantity or a name stands where the passages have another one, and elsewhere themselves.

    What stands around a value tells what it belongs to. A rival that shares two stems more with the sentence, or all of
    them where the value's own place does not, belongs there instead.
    """
    sources = [one.text for passage in passages for one in _evidence(passage.text, reading.language)]
    return _value_misplaced(said, sources, reading) or _name_misplaced(said, sources, reading)


def _value_misplaced(said: str, sources: Sequence[str], reading: SupportContext) -> bool:
    stated = [(one, _around(said, one.start, one.end, reading.language)) for one in quantities(said)]
    if not stated:
        return False
    given = [(one, _around(text, one.start, one.end, reading.language)) for text in sources for one in quantities(text)]
    for one, context in stated:
        if one.kind in ("rate", "period"):
            continue
        own = [context & around for other, around in given if _same_value(one, other)]
        rivals = [
            context & around
            for other, around in given
            if not _same_value(one, other) and (other.kind == one.kind or "" in (other.kind, one.kind))
        ]
        if own and _rival_is_nearer(rivals, own, len(context)):
            return True
    return False


_FREE = re.compile(
    r"\b(?:free(?: of charge)?|(?:no|without) (?:charge|cost|fee)|sans frais|ohne gebuhr|sin cargo|nothing"
    r"|gratuit\w*|gratis|kostenlos|kostenfrei|sin coste)\b"
)


def _free_instead_of_paid(
    said: str, wanted: frozenset[str], passages: Sequence[Passage], reading: SupportContext
) -> bool:
    """Whether it says that something is free of which the passages name the price."""
    clause = next((one for one in _BETWEEN_CLAUSES.split(said) if _FREE.search(normalise(one))), "")
    if not clause:
        return False
    wanted = _content_stems(clause, reading.language) & wanted
    rest = wanted - stem_set(f"{_FREE.findall(normalise(clause))[0]} charge cost", reading.language)
    paid = free = 0.0
    for one in _placed((*passages, *reading.others), reading.language):
        for clause in _BETWEEN_CLAUSES.split(one.text):
            own = len(rest & stem_set(clause, reading.language))
            near = (
                own + 0.25 * len(rest & one.context) if own and len(rest & one.context) >= _ENOUGH * len(rest) else 0.0
            )
            if _FREE.search(normalise(clause)):
                free = max(free, near or own)
            elif any(each.kind == "money" for each in quantities(clause)):
                paid = max(paid, near)
    return bool(rest) and paid > free


def _same_value(one: Quantity, other: Quantity) -> bool:
    return matches(one, other) or (not (one.kind and other.kind) and bool(one.values & other.values))


def _rival_is_nearer(rivals: Sequence[frozenset[str]], own: Sequence[frozenset[str]], context: int) -> bool:
    """Whether a rival shares two stems more, or everything, and all that the own places share."""
    most = max(map(len, own), default=0)
    together = frozenset().union(*own)
    return any(
        (len(rival) >= most + _MARGIN or (len(rival) > most and len(rival) >= max(2, context))) and together <= rival
        for rival in rivals
    )


def _name_misplaced(said: str, sources: Sequence[str], reading: SupportContext) -> bool:
    spoken, known = frozenset(words(said)), frozenset(words(reading.known))
    names = {normalise(name) for name in _all_names(said, reading.language)} - known
    if not names:
        return False
    rivals = {normalise(name) for text in sources for name in _all_names(text, reading.language)} - spoken
    for name in names:
        for scope in (_around_word, _sentence_around):
            context = scope(said, name, reading.language)
            own = [context & scope(text, name, reading.language) for text in sources]
            others = [context & scope(text, other, reading.language) for text in sources for other in rivals]
            if len(context) >= 2 and _rival_is_nearer(others, own, len(context)):
                return True
    return False


def _all_names(text: str, language: str) -> list[str]:
    """The names of one word, also one that begins the sentence in an unusual spelling."""
    found = [name for name in (*_identifiers(text), *_proper_names(text, language)) if len(words(name)) == 1]
    return [*found, *(word for word in _TOKEN.findall(text) if word[1:] != word[1:].lower())]


def _name_in_another_place(
    said: str, near: Sequence[_Evidence], passages: Sequence[Passage], reading: SupportContext
) -> bool:
    """Whether two names have changed places, or one has taken another's."""
    if not near or len(_content_stems(said, reading.language) & near[0].stems) < _SHORT:
        return False
    sources = [one.text for passage in passages for one in _evidence(passage.text, reading.language)]
    return name_in_another_place(said, sources, reading.language)


def _around_word(text: str, word: str, language: str) -> frozenset[str]:
    """The stems of the clauses that have the word, without it."""
    found: frozenset[str] = frozenset()
    for clause in _BETWEEN_CLAUSES.split(text):
        if word in words(clause):
            found |= stem_set(clause, language) - stem_set(word, language)
    return found


def _sentence_around(text: str, word: str, language: str) -> frozenset[str]:
    return stem_set(text, language) - stem_set(word, language) if word in words(text) else frozenset()


def _around(text: str, start: int, end: int, language: str) -> frozenset[str]:
    """The stems next to a place in the text within its clause."""
    before = _BETWEEN_CLAUSES.split(text[:start])[-1]
    after = _BETWEEN_CLAUSES.split(text[end:])[0]
    near = (*stems(before, language)[-_CONTEXT:], *stems(after, language)[:_CONTEXT])
    return frozenset(stem for stem in near if not stem.isdigit())


# --- names ---

_CODE = re.compile(r"`([^`\n]{1,200})`")
_WRITTEN = re.compile(r"(?<![\w/.:-])(?:--?)?\w[\w./:-]*+")
#: What makes a token an identifier: an underscore, a capital within, a point or colon within.
_UNUSUAL = re.compile(r"\w_\w|[a-z][A-Z]|[^\W\d_][.:]\w|/\w*[\d_.]")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?$")
_TOKEN = re.compile(r"[^\W_]+")
_CAPITAL = re.compile(r"(?<![\w'’.-])[^\W\d_a-z][^\W\d_]+")
#: Languages that write every noun with a capital letter.
_CAPITAL_NOUNS = frozenset(["deu"])
_DEMONYM = ("an", "ian", "ese", "ish", "ch", "ais", "aise", "ien", "ienne", "er", "isch", "ano", "ana", "es", "s")


def _names_found(names: Iterable[str], passages: Sequence[Passage], reading: SupportContext) -> bool:
    """Whether the passages, or the question, have every one of the names."""
    text = " ".join((*(f"{p.title}\n{p.text} {p.url} {p.source}" for p in passages), reading.known))
    compact, spoken = _compact(text), frozenset(words(text))
    for name in names:
        if _compact(name) in compact or frozenset(words(name)) <= spoken or _derived(name, spoken):
            continue
        if name.isupper() and _is_acronym(name, text):
            continue
        return False
    return True


def _without_quantities(text: str) -> str:
    for one in quantities(text):
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _identifiers(said: str) -> list[str]:
    """Code, options, names of files, hosts and settings, abbreviations: what is written in one way only."""
    rest = _CODE.sub(" ", _without_quantities(said))
    for address in addresses(rest):
        rest = rest.replace(address, " ")
    written = [match[0].rstrip(".:/-") for match in _WRITTEN.finditer(rest)]
    found = [one for one in written if _is_identifier(one)]
    return [*_CODE.findall(said), *(name for name in found if not quantities(name))]


def _is_identifier(token: str) -> bool:
    """Whether a token is written in one way only: an option, a file, a setting, a version, a name with digits."""
    if token.startswith("-"):
        return len(token) > 2
    lettered = any(map(str.isalpha, token)) and any(map(str.isdigit, token))
    return not _INITIALS.match(token) and (bool(_UNUSUAL.search(token)) or (lettered and token[0].isalpha()))


def _proper_names(said: str, language: str) -> list[str]:
    """Words with a capital letter that do not begin a sentence; none where every noun has one."""
    if language in _CAPITAL_NOUNS:
        return []
    rest = _CODE.sub(" ", said)
    begins = next((at for at, char in enumerate(rest) if char.isalnum()), 0)
    capital = list(_CAPITAL.finditer(rest))
    found = []
    for at, match in enumerate(capital):
        first = match.start() == begins or rest[: match.start()].rstrip()[-1:] in ".!?:;|\"'«“("
        paired = at + 1 < len(capital) and capital[at + 1].start() - match.end() == 1
        if normalise(match[0]) in stop_words(language) or (first and not paired) or quantities(match[0]):
            continue
        found.append(match[0])
    return found


def _subject_replaced(said: str, wanted: frozenset[str], near: Sequence[_Evidence], reading: SupportContext) -> bool:
    """Whether the sentence begins with a word that is nowhere, where its evidence has a name that the sentence
    lacks."""
    first = next(iter(words(said)), "")
    own = stem_set(first, reading.language)
    present = stem_set(reading.known, reading.language).union(*(one.stems for one in near))
    if not near or not own or own <= present or first in stop_words(reading.language):
        return False
    best, spoken = near[0], frozenset(words(said))
    if len(wanted & best.stems) < _ENOUGH * (len(wanted) - 1):
        return False
    known = frozenset(words(reading.known))
    lead = next(iter(_TOKEN.findall(best.text)), "")
    rivals = [*_proper_names(best.text, reading.language), *(name for name in (lead,) if name[1:] != name[1:].lower())]
    return any(normalise(name) not in spoken | known for name in rivals)


def _compact(text: str) -> str:
    return re.sub(r"\s+", "", normalise(text))


def _derived(name: str, spoken: frozenset[str]) -> bool:
    """Whether it is another form of a name that is there: `Canadian` for `Canada`, a plural, a possessive."""
    for part in words(name):
        if part in spoken:
            continue
        if not part.isalpha():
            return False
        stem = part[: max(4, int(0.6 * len(part)))]
        if not (
            part.endswith(_DEMONYM) and any(one.startswith(stem) and abs(len(one) - len(part)) <= 4 for one in spoken)
        ):
            return False
    return True


def _is_acronym(name: str, text: str) -> bool:
    """Whether words of the text that follow one another begin with its letters."""
    initials = "".join(word[0] for word in re.findall(r"[^\W\d_]+", text)).upper()
    return len(name) >= 2 and name.upper() in initials
