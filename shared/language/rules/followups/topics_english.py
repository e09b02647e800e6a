"""The topic of an English question: the noun phrase it is about, found by the form of the question."""

from __future__ import annotations

import re

from shared.language.rules.followups.topics import TopicPhrase, word_set
from shared.language.rules.followups.words_english import (
    ARTICLES,
    AUXILIARIES,
    CLAUSE,
    COPULAS,
    DETERMINERS,
    LIGHT,
    PARTICIPLES,
    PAST_AND_PRESENT,
    PREPOSITIONS,
    RELATIONAL,
    TELLING,
    VERBS,
    WH,
    is_light,
    is_plural,
    is_verb,
)

_WORD = re.compile(r"[^\W_][\w&./’'-]*[\w]|[^\W_]|[^\w\s]")
_ABOUT = re.compile(
    rf"^\W*{TELLING}(?:(?:tell|give|show) (?:me |us )?(?:[\w-]+ ){{0,3}}?about"
    r"|talk about|describe|explain|define|discuss|compare"
    r"|give (?:me |us )?(?:an overview of|information (?:on|about))|(?:and |so )?(?:what|how) about"
    r"|what do you know about|(?:have|get|need|want) (?:some |more )?information (?:on|about))\s+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\bbetween (?P<one>[^,?]{1,80}?) and (?P<two>[^,?]{1,80}?)\s{0,9}(?:[?.,]|$)", re.IGNORECASE)
_EITHER = re.compile(
    r"\b(?:compare|is|are|was|were|do|does|about) (?P<one>[^,?]{1,80}?) (?:and|or|vs\.?|versus|with|to) "
    r"(?P<two>[^,?]{1,80}?)"
    r"(?: (?:compare|differ|relate|cost|work|better|related|similar|different|the same)\b[^?]*+)?\s{0,9}[?.]?$",
    re.IGNORECASE,
)
_LONGEST = 8
_NEVER = word_set(
    "my your our it's people things thing something someone anyone everything closest else also not still too so wow "
    "let really ok okay such no yes I him"
)
DEFINITE = word_set("the this that these those")
_ASKERS = word_set("you I i we one")
_PRONOUNS = word_set(
    "it they them he she him her this that these those there you i we me us one ones something anything"
)


def topic_of(question: str) -> TopicPhrase | None:
    """The topic of the question; None when it names nothing."""
    question = _asking(question.strip().replace("’", "'"))
    compared = _compared(question)
    if compared:
        return compared
    request = _ABOUT.match(question)
    tokens = _WORD.findall(question[request.end() :] if request else question)
    found = _phrase(tokens, verbless=True) if request else _of_question(tokens)
    return _topic(found) if found else None


def _asking(text: str) -> str:
    """The last sentence that is a question or a request; a text of one sentence always is."""
    spans = [one.strip() for one in re.findall(r"[^.!?]+(?:\.(?=\w)[^.!?]*)*[.!?]*", text) if one.strip(" .!?")]
    if len(spans) < 2:
        return text
    asking = [one for one in spans if one.endswith("?") or _ABOUT.match(one)]
    return asking[-1] if asking else ""


def _compared(question: str) -> TopicPhrase | None:
    """Two things that are compared, as a topic with both as its parts; None when there are not two."""
    found = _BETWEEN.search(question)
    if not found and question.casefold().startswith(("compare", "how do", "how does")):
        found = _EITHER.search(question)
    if not found:
        return None
    parts = [" ".join(_phrase(_WORD.findall(found[side]), verbless=True)) for side in ("one", "two")]
    if not all(parts) or any(part.casefold() in _PRONOUNS for part in parts):
        return None
    return TopicPhrase(" and ".join(parts), plural=True, parts=tuple(parts))


def _of_question(tokens: list[str]) -> list[str]:
    """The subject of a question, or the object of `what is`."""
    low = [token.casefold() for token in tokens]
    at = next((place for place, word in enumerate(low[:8]) if word in AUXILIARIES or word.endswith("'s")), None)
    if at is not None:
        return _with_verb(tokens, low, at)
    if len(low) > 2 and low[0] in WH and low[1] in PAST_AND_PRESENT:
        return _phrase(tokens[2 + (low[2] in PREPOSITIONS) :], verbless=True)
    return _phrase(tokens, verbless=True) if len(tokens) < 7 and low and low[0] not in WH else []


def _with_verb(tokens: list[str], low: list[str], at: int) -> list[str]:
    """The topic of a question with an auxiliary, or with `'s` after a noun or `what`, at index `at`."""
    head = low[:at]
    if low[at].partition("'")[0] in WH:
        head = [*head, low[at]]  # what's, who's
    elif low[at] not in AUXILIARIES:
        return _phrase(tokens, verbless=False)
    rest = tokens[at + 1 :]
    asked = tokens[1:at] if head and head[0] in WH else []
    copula = low[at] in COPULAS or low[at] not in AUXILIARIES
    if head[:1] == ["how"] and asked:
        # `How reliable is the test`: no predicate follows the subject.
        asked = asked[1:] if head[1] in ("many", "much") else []
        if copula and not asked:
            return _phrase(rest, verbless=True)
    if rest and (rest[0] in _ASKERS or rest[0].casefold() in _PRONOUNS):
        return _object(rest[1:]) if rest[0] in _ASKERS else _after_preposition(tokens[:at] if asked else rest[1:])
    if copula and head and head[0].startswith(("what", "who", "which", "where")) and not asked:
        about = [one.casefold() for one in rest[:4]]
        return _phrase(rest[about.index("about") + 1 if "about" in about[:-1] else 0 :], verbless=True)
    found = _phrase(rest, verbless=False, copula=copula)
    if asked and (not found or (len(found) == 1 and found[0].islower() and copula)):
        return _phrase(asked, verbless=True)
    return found


def _object(tokens: list[str]) -> list[str]:
    """The object of a verb: the phrase after `you need`, `I visit`."""
    for place, token in enumerate(tokens):
        low = token.casefold()
        if low not in VERBS and low not in AUXILIARIES and low not in PREPOSITIONS and low != "to":
            return _phrase(tokens[place:], verbless=True)
    return []


def _after_preposition(tokens: list[str]) -> list[str]:
    """The phrase after the last `of` or `about`: `types of sharks`."""
    low = [token.casefold() for token in tokens]
    for place in range(len(low) - 1, -1, -1):
        if low[place] in ("of", "about"):
            return _phrase(tokens[place + 1 :], verbless=True)
    return []


def _phrase(tokens: list[str], *, verbless: bool, copula: bool = False) -> list[str]:
    """The leading noun phrase; `verbless`: no verb follows it, `copula`: a predicate follows it.

    The topic of `the causes of X` is X.
    """
    found: list[str] = []
    for place, token in enumerate(tokens):
        low = token.casefold()
        if not token[0].isalnum() or (low in CLAUSE and not _joins(tokens, place)):
            break
        if token.islower() and (low in WH or (found and low in AUXILIARIES)):
            break
        if low in PREPOSITIONS and low != "of":
            break
        if found and copula and low in ARTICLES and found[-1].casefold() != "of":
            break
        if low in VERBS and not verbless and found and not copula and found[-1].casefold() not in LIGHT | DETERMINERS:
            break
        found.append(token)
    else:
        place = len(tokens)
    if copula and not verbless and len(found) > 1:
        found = _without_predicate(found, tokens[place : place + 1])
    elif not verbless and place >= len(tokens) - 1 and len(found) > 1 and found[-1].islower() and not copula:
        found = found if found[-1].casefold() in RELATIONAL else found[:-1]
    while len(found) > 1 and found[-1].islower() and (found[-1].endswith("ed") or found[-1] in PARTICIPLES):
        found = found[:-1]
    return _of_what(found)[:_LONGEST]


def _joins(tokens: list[str], place: int) -> bool:
    """Whether the word joins two names into one: `Lewis and Clark`."""
    around = tokens[place - 1 : place] + tokens[place + 1 : place + 2]
    return tokens[place] == "and" and len(around) == 2 and all(one[:1].isupper() for one in around)


def _without_predicate(found: list[str], following: list[str]) -> list[str]:
    """Removes the predicate (`Is lung cancer treatable`), unless an article follows or the last word is a name."""
    if following and following[0].casefold() in ARTICLES:
        return found
    if found[-1][:1].isupper() and len(found) < 4:
        return found
    return found[:-1]


def _of_what(found: list[str]) -> list[str]:
    """The complement of `the main causes of X` or `types of X`, without leading and trailing light words."""
    low = [token.casefold() for token in found]
    if "of" in low:
        at = low.index("of")
        if any(word in RELATIONAL for word in low[:at]) or all(is_light(word) for word in low[:at]):
            return _of_what(found[at + 1 :])
    for place, token in enumerate(found):
        if token.endswith(("'s", "’s")) and low[-1] in RELATIONAL and place < len(found) - 1:
            return _of_what([*found[:place], token[:-2]])
    while low and (low[0] in LIGHT and low[0] not in ARTICLES):
        found, low = found[1:], low[1:]
    while low and low[-1] in LIGHT | ARTICLES | {"of"}:
        found, low = found[:-1], low[:-1]
    while len(found) > 1 and low[-1].endswith("ly") and found[-1].islower():
        found, low = found[:-1], low[:-1]
    if found and found[-1].endswith(("'s", "’s")):
        found = [*found[:-1], found[-1][:-2]]
    return found


def _topic(found: list[str]) -> TopicPhrase | None:
    low = [token.casefold() if token.islower() else token for token in found if token.casefold() not in DETERMINERS]
    if not low or any(word in _PRONOUNS or word in _NEVER or "n't" in word for word in low):
        return None
    if len(low) == 1 and (is_verb(low[0]) or low[0] in PREPOSITIONS or low[0].endswith("ed")):
        return None
    if len(low) == 1 and (low[0] in RELATIONAL or len(low[0]) < 2):
        return None
    if all(word in LIGHT or word in RELATIONAL for word in low) or found[0] in _PRONOUNS:
        return None
    if found[0].casefold() in _NEVER or (found[0].casefold() in DEFINITE and found[-1].islower() and len(found) == 2):
        return None  # `the tickets`: of something that was named before
    article = found[0].casefold() in ("a", "an")
    return TopicPhrase(
        " ".join(found[1:] if found[0] == "The" else found),
        plural=not article and (is_plural(" ".join(found)) or ("and" in found and found[-1][:1].isupper())),
    )
