"""Standalone form of French follow-ups: ellipses, pronouns and missing complements are resolved. Pure.

A subject pronoun stays, and its referent is added at the end (`Est-elle gratuite, la piscine ?`), as in spoken French,
so that no agreement has to change.
"""

from __future__ import annotations

import re

from shared.language.analysis import normalise, stop_words
from shared.language.rules.followups.topics import (
    ConversationState,
    ResolvedQuestion,
    TopicPhrase,
    before_last,
    first_resolved,
    word_set,
)
from shared.language.rules.followups.words_french import (
    ARTICLES,
    ENDS,
    FEMININE,
    LIGHT,
    RELATIONAL,
    SUBJECTS,
    TELLING,
)

_TOKEN = re.compile(r"(?:[^\W\d_]+['’])|[^\W_]+(?:-[^\W_]+)*|[^\w\s]")
_LONGEST = 8
_ABOUT = re.compile(TELLING, re.IGNORECASE)
_ELLIPSIS = re.compile(
    r"^\W*+(?:et|mais|ou|alors)\b[ ,]*+(?:qu'en est-il )?(?P<rest>[^?.!]++)[?.!]*+\s*+$", re.IGNORECASE
)
_LEADS = word_set("pour dans en à au aux avec sans après avant pendant depuis chez sur entre sous par")
#: Impersonal: il faut, y a-t-il, est-il possible.
_EMPTY_IL = re.compile(
    r"\bil (?:faut|fallait|faudra|y a|existe|s['’]agit|pleut|suffit|vaut)\b|\b(?:faut|y a-t|suffit|existe-t|vaut)-il\b"
    r"|\b(?:est|était|serait|sera)-il (?:\w+ ){0,2}(?:possible|nécessaire|obligatoire|vrai|normal|utile|important|"
    r"permis|interdit|mieux|préférable|facile|difficile|dangereux|risqué|légal|illégal|conseillé|recommandé|rare|courant|"
    r"raisonnable|prudent|temps|suffisant) (?:de|d['’]|que|qu['’]|à)"
    r"|\bil (?:est|était|serait) (?:\w+ ){0,2}(?:possible|nécessaire|obligatoire|vrai|permis|interdit|mieux|préférable|"
    r"conseillé|recommandé|important|normal|rare|facile|difficile|dangereux)\b|\bquelle heure est-il\b"
    r"|\bqu['’]en est-il\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?:-t)?-(?P<inverted>ils?|elles?)\b|\b(?P<plain>ils?|elles?)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?P<article>son|sa|ses|leurs?) (?P<noun>[^\W\d_][\w-]*)", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(r"\b(?:de|à|sur|pour|avec) (?P<this>ça|cela|ceci)\b", re.IGNORECASE)


def topic_of(question: str) -> TopicPhrase | None:
    """The topic of the question; None when it names nothing."""
    request = _ABOUT.match(question)
    rest = question[request.end() :] if request else question
    tokens = _TOKEN.findall(rest)
    low = [normalise(token) for token in tokens]
    if request:
        return _topic(_phrase(tokens, low, 0))
    for place, word in enumerate(low):
        if word in ARTICLES and place + 1 < len(low) and low[place + 1][0].isalnum():
            found = _topic(_phrase(tokens, low, place))
            if found is not None:
                return found
    capital = next((at for at, token in enumerate(tokens) if at and token[:1].isupper()), None)
    return _topic(_phrase(tokens, low, capital)) if capital is not None else None


def _phrase(tokens: list[str], low: list[str], start: int) -> list[str]:
    """The noun phrase at `start` with its `de` complement; for a relational noun, only the complement."""
    found: list[str] = []
    for place in range(start, len(low)):
        word = low[place]
        if not word[0].isalnum() or (word in ENDS and found) or (place > start and "-t-" in word):
            break
        if word in SUBJECTS or (
            found and word in ARTICLES and word not in _JOINTS and normalise(found[-1]) not in _JOINTS
        ):
            break
        found.append(tokens[place])
    spoken = [normalise(word) for word in found]
    joint = next((at for at, word in enumerate(spoken) if at and word in _JOINTS), None)
    if joint is not None and any(word in RELATIONAL for word in spoken[:joint]):
        return _of_what(found, joint)
    return found[:_LONGEST]


_JOINTS = frozenset(("de", "du", "des", "d'"))


def _of_what(found: list[str], joint: int) -> list[str]:
    """The complement after `de`, with its article: `du permis` gives `le permis`."""
    article = {"du": ["le"], "des": ["les"]}.get(normalise(found[joint]), [])
    return [*article, *found[joint + 1 :]][:_LONGEST]


def _topic(found: list[str]) -> TopicPhrase | None:
    while found and normalise(found[-1]) in ARTICLES | _JOINTS | LIGHT:
        found = found[:-1]
    content = [normalise(word) for word in found if normalise(word) not in ARTICLES | _JOINTS | LIGHT]
    if not content or all(word in RELATIONAL for word in content) or all(word in stop_words("fra") for word in content):
        return None
    text = re.sub(r"(['’]) ", r"\1", " ".join(found))
    return TopicPhrase(text, plural=normalise(found[0]) in ("les", "des", "ces"))


def resolve(question: str, state: ConversationState) -> ResolvedQuestion:
    """The standalone form of the question; unchanged when it is standalone already."""
    return first_resolved(question, state, (_elliptic, _with_possessive, _with_subject, _with_complement))


def _elliptic(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`Et pour les étudiants ?` continues the question before it."""
    found = _ELLIPSIS.match(question)
    if not found or not state.question:
        return None
    rest = found["rest"].strip()
    words = [normalise(word) for word in _TOKEN.findall(rest)]
    if not words or len(words) > 8 or words[0] not in {normalise(one) for one in _LEADS} or _SUBJECT.search(rest):
        return None
    before = state.question.rstrip(" ?.!\u00a0\u202f")
    lead = rest.split()[0]
    before = before_last(lead, before)
    return ResolvedQuestion(f"{before} {rest} ?", f"continues the question before: {before}", state.topic)


def _with_possessive(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`ses horaires` becomes `les horaires de la piscine`."""
    found = _POSSESSIVE.search(question)
    topic = state.topic
    if not found or topic is None or _named_in(question[: found.start()]):
        return None
    if topic.parts and found["article"].casefold() != "leurs":
        return ResolvedQuestion(question, referents=topic.parts, unclear=found[0])
    rewritten = f"{_article(found['article'], found['noun'])}{found['noun']} {_of(topic.text)}"
    return ResolvedQuestion(
        question[: found.start()] + rewritten + question[found.end() :], f"{found[0]}: {topic.text}", topic
    )


def _article(possessive: str, noun: str) -> str:
    if possessive.casefold() in ("ses", "leurs"):
        return "les "
    if normalise(noun)[0] in "aeiouyh":
        return "l'"
    feminine = possessive.casefold() == "sa" or normalise(noun) in FEMININE
    return "la " if feminine else "le "


def _of(text: str) -> str:
    """The phrase after `de`, contracted: du permis, des tickets, de la piscine, d'une carte."""
    first, _, rest = text.partition(" ")
    contracted = {"le": "du", "les": "des", "des": "de"}.get(first.casefold())
    if contracted and rest:
        return f"{contracted} {rest}"
    return f"d'{text}" if normalise(text)[0] in "aeiouyh" else f"de {text}"


def _with_subject(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`Est-elle gratuite ?`: adds the referent at the end."""
    if _EMPTY_IL.search(question):
        return None
    topic = state.topic
    for found in (*_SUBJECT.finditer(question), *_DEMONSTRATIVE.finditer(question)):
        word = next(part for part in found.groups() if part)
        if topic is None or _named_in(question[: found.start()]):
            return None
        if topic.parts and not word.endswith("s"):
            return ResolvedQuestion(question, referents=topic.parts, unclear=word)
        referent = state.topic_in(plural=word.endswith("s")) or topic
        begun = question.rstrip().rstrip("?.!").rstrip()
        return ResolvedQuestion(f"{begun}, {referent.text} ?", f"{word}: {referent.text}", referent)
    return None


def _with_complement(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`Quels sont les délais ?`: adds the topic as the complement."""
    tokens = list(_TOKEN.finditer(question))
    low = [normalise(token[0]) for token in tokens]
    for place in range(1, len(low)):
        if low[place] not in RELATIONAL or state.topic is None:
            continue
        after = [word for word in low[place + 1 :] if word[0].isalnum()]
        around = [word for word in low[:place] if word not in stop_words("fra") and word not in LIGHT]
        if any(word not in LIGHT for word in after) or any(word not in ASKING for word in around):
            continue
        at = next(
            (tokens[one].end() for one in range(len(low) - 1, place, -1) if low[one] in LIGHT), tokens[place].end()
        )
        rewritten = f"{question[:at]} {_of(state.topic.text)}{question[at:]}"
        return ResolvedQuestion(rewritten, f"{tokens[place][0]} {_of(state.topic.text)}", state.topic)
    return None


ASKING = word_set("quel quelle quels quelles combien sont est connais donne donnez moi dis dites")


def _named_in(text: str) -> bool:
    """Whether the words before a pronoun name a possible referent with an article."""
    words = [normalise(word) for word in _TOKEN.findall(text)]
    return any(
        word in ("le", "la", "les", "l'", "un", "une", "mon", "ma", "mes", "cette", "ce", "ces")
        and place + 1 < len(words)
        and words[place + 1] not in RELATIONAL | SUBJECTS
        for place, word in enumerate(words)
    )
