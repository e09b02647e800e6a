"""Whether a rewritten question may be shown: what was put in is a noun phrase, and the whole reads as a question. Pure.

A rewrite that fails is not used: the question is then searched together with the earlier turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from shared.language.analysis import normalise, stems, words
from shared.language.rules.followups.topics import ResolvedQuestion, TopicPhrase, word_set

#: A noun phrase has no clause in it: no pronoun, question word or auxiliary. Interjections and remarks are none either.
_NO_PHRASE = {
    "eng": word_set(
        "i you we he she they it me us him them my your our their his its what how why who whom when where whose is "
        "are was were am be been do does did can could will would should shall have has had may might must isn aren "
        "wasn don doesn didn ll ve wow oh ok okay great thanks thank yes no sure interesting hmm cool nice well please "
        "hi hello sorry really actually maybe because although if"
    ),
    "fra": word_set(
        "je tu il elle nous vous ils elles me te se lui leur y qui que quoi dont ou comment pourquoi quand combien est "
        "sont etait etaient suis es sommes etes ai as avons avez ont a-t peut peuvent doit doivent faut oui non merci "
        "bonjour super ok parce si"
    ),
}
#: Words that say how something is, and so are no topic by themselves.
_QUALITIES = {
    "eng": word_set(
        "good bad best better worse worst new old big small large safe possible popular important common different "
        "similar high low hard easy free cheap expensive long short early late true false right wrong many more most "
        "other same first last next previous red blue green black white hot cold"
    ),
    "fra": word_set(
        "bon bonne mauvais meilleur nouveau nouvelle vieux grand petit possible important different gratuit cher long "
        "court vrai faux autre meme premier dernier prochain"
    ),
}
_QUALITY_ENDS = {"eng": ("ous", "ful", "less", "able", "ible", "ish"), "fra": ("able", "ible", "eux", "euse")}
_YEAR = re.compile(r"\d{1,4}s?")
_LONGEST_PHRASE = 9
#: A question of more words was glued together.
_LONGEST_QUESTION = 32


def is_noun_phrase(text: str, language: str) -> bool:
    """Whether a topic can stand in a question: a few words without a clause, and not only a quality or a year."""
    found = words(text)
    if not found or len(found) > _LONGEST_PHRASE or re.search(r"[?!;:]|\.\s", text):
        return False
    # A capitalised word is a name: the Who, Will Smith.
    typed = text.replace("’", "'").split()
    lower = [word for word in typed if not word[:1].isupper() or word.partition("'")[0] == "I"]
    clause = _NO_PHRASE.get(language, frozenset())
    if any(normalise(word.split("'")[-1 if language == "fra" else 0]) in clause for word in lower):
        return False
    content = stems(text, language)
    if not content or all(_YEAR.fullmatch(word) for word in content):
        return False
    single = found[-1] if len(content) == 1 else ""
    ends = _QUALITY_ENDS.get(language, ())
    return not (single and text.islower() and (single in _QUALITIES.get(language, ()) or single.endswith(ends)))


def may_ask_which(options: Sequence[str], language: str) -> bool:
    """Whether options can be offered to the asker: two or more noun phrases."""
    return len(options) > 1 and all(is_noun_phrase(one, language) for one in options)


def is_plausible(resolved: ResolvedQuestion, asked: str, language: str) -> bool:
    """Whether the rewritten question reads as a question, and what it takes from the conversation is a noun phrase."""
    said, before = words(resolved.question), words(asked)
    if len(said) > _LONGEST_QUESTION and len(said) > len(before):
        return False
    if any(one == other for one, other in pairwise(said) if not _stands_twice(one, before)):
        return False
    return resolved.topic is None or _fits(resolved.topic, resolved, asked, language)


def _fits(topic: TopicPhrase, resolved: ResolvedQuestion, asked: str, language: str) -> bool:
    if topic.text not in resolved.question and not resolved.question.startswith(asked.rstrip(" ?.!")):
        return True  # it continues the question before, in that question's own words
    if not is_noun_phrase(topic.text, language) and topic.text in resolved.question:
        return False
    content = set(stems(topic.text, language))
    return topic.text not in resolved.question or not content or not content <= set(stems(asked, language))


def _stands_twice(word: str, said: Sequence[str]) -> bool:
    return any(one == word == other for one, other in pairwise(said))
