"""Standalone form of English follow-ups: ellipses, pronouns and missing complements are resolved. Pure."""

from __future__ import annotations

import re

from shared.language.analysis import stop_words
from shared.language.rules.followups.topics import (
    ConversationState,
    ResolvedQuestion,
    TopicPhrase,
    before_last,
    first_resolved,
    word_set,
)
from shared.language.rules.followups.topics_english import topic_of
from shared.language.rules.followups.words_english import (
    AUXILIARIES,
    CLAUSE,
    COMPLEMENTS,
    COPULAS,
    DETERMINERS,
    EXAMPLES,
    FOR,
    KINDS,
    PREPOSITIONS,
    RELATIONAL,
    REMARKS,
    VERBS,
    WH,
    is_light,
    is_plural,
    is_verb,
)

__all__ = ["resolve", "topic_of"]

_TOKEN = re.compile(r"[^\W_][\w./’'-]*\w|[^\W_]|[^\w\s]")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*\s*")
_SINGULAR, _PLURAL = frozenset(("it", "its")), frozenset(("they", "them", "their", "theirs"))
_PERSON = frozenset(("he", "she", "him", "his", "her"))
_POSSESSIVE = frozenset(("its", "their", "his"))
#: `it` without a referent: is it possible to, does it take to, what time is it.
_EMPTY_IT = re.compile(
    r"\bit(?: is|’s|'s| was| will be| would be| be)? (?:\w+ ){0,3}"
    r"(?:possible|impossible|necessary|unnecessary|likely|unlikely|true|time|better|best|worse|worth|important|hard|"
    r"harder|difficult|easy|easier|common|uncommon|normal|unusual|rare|good|bad|safe|safer|unsafe|dangerous|harmful|legal|"
    r"illegal|lawful|allowed|permitted|ok|okay|fine|advisable|recommended|required|mandatory|compulsory|enough|wise|wiser|"
    r"smart|useful|helpful|useless|healthy|healthier|cheap|cheaper|expensive|faster|quicker|acceptable|appropriate|"
    r"reasonable|realistic|feasible|practical|sensible|essential|crucial|ethical|rude|fair|nice|great|late|early) "
    r"(?:to|that|if|when|whether|for (?:\w+ ){1,3}to)\b"
    r"|\b(?:does|did|will|would|do) it (?:take|mean|matter|feel|cost|look like|rain|snow)\b[^?]* to\b"
    r"|\btime is it\b|\bworth it\b|\bmake it (?:in)?to\b|\bwhat is it (?:like|called)\b"
    r"|\bit (?:rains?|snows?|takes?|seems? that|turns out)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r"^\W*+(?:and|but|or|so|what about|how about|and what about|and how about)\b[ ,]*+(?P<rest>[^?.!]++)[?.!]*+\s*+$",
    re.IGNORECASE,
)
_LEADS = word_set("for in on at with without during after before from under between by to")


def resolve(question: str, state: ConversationState) -> ResolvedQuestion:
    """The standalone form of the question, in its own words; unchanged when it is standalone already."""
    return first_resolved(question, state, (_elliptic, _with_referents, _with_complement, _with_full_name))


# --- ellipsis: `and for students?` ---


def _elliptic(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """A question without a verb continues the one before it."""
    found = _ELLIPSIS.match(question)
    if not found or not state.question:
        return None
    rest = found["rest"].strip()
    words = rest.casefold().split()
    if any(word in AUXILIARIES or word in WH or word in _SINGULAR | _PLURAL | _PERSON for word in words):
        return None
    before = state.question.rstrip(" ?.!")
    if words[0] in _LEADS and len(words) > 1:
        before = before_last(words[0], before)
        return ResolvedQuestion(f"{before} {rest}?", f"continues the question before: {before}", state.topic)
    return _of_another(rest, words, before, state.topic)


def _of_another(rest: str, words: list[str], before: str, topic: TopicPhrase | None) -> ResolvedQuestion | None:
    """`What about students?`: the question before, asked about something else."""
    if topic is None or topic.parts or topic.text not in before:
        return None
    if len(words) <= 2 and rest.islower() and not any(word in RELATIONAL for word in words):
        return ResolvedQuestion(
            f"What about {rest}: {before[0].lower()}{before[1:]}?", f"asks the same about {rest}", topic
        )
    if len(words) > 4 or not _same_kind(rest, topic):
        return None
    return ResolvedQuestion(
        f"{before.replace(topic.text, rest)}?", f"asks the same about {rest} as about {topic.text}", None
    )


def _same_kind(rest: str, topic: TopicPhrase) -> bool:
    """Whether it can replace the topic: both are names, or both end with the same word."""
    if rest.rpartition(" ")[2].casefold() == topic.text.rpartition(" ")[2].casefold():
        return True
    return rest[:1].isupper() and topic.is_name and topic.text[:1].isupper()


# --- pronouns: it, they, he ---


def _with_referents(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """Replaces the first pronoun by the topic that it refers to."""
    begin = _last_sentence(question)
    if begin is None:
        return None
    head, sentence = question[:begin], question[begin:]
    tokens = list(_TOKEN.finditer(sentence))
    low = [token[0].casefold().replace("’", "'") for token in tokens]
    for place, word in enumerate(low):
        found = _referent(low, place, state, sentence)
        if found is None or _named_before(tokens, low, place):
            continue
        if found.parts and word in _SINGULAR:
            return ResolvedQuestion(question, referents=found.parts, unclear=word)
        written = _written(found, possessive=word in _POSSESSIVE or _is_her_own(low, place), plural=word in _PLURAL)
        sentence = sentence[: tokens[place].start()] + written + sentence[tokens[place].end() :]
        return ResolvedQuestion(head + sentence, f"{tokens[place][0]}: {found.text}", found)
    return None


def _last_sentence(question: str) -> int | None:
    """Where the last sentence begins; None when an earlier one names something that its pronouns can refer to."""
    spans = [(one.start(), one[0]) for one in _SENTENCE.finditer(question) if one[0].strip(" .!?")]
    for _, earlier in spans[:-1]:
        content = [word for word in re.findall(r"[\w’']+", earlier.casefold()) if word not in stop_words("eng")]
        content = [word for word in content if word not in REMARKS and not word.endswith(("n’t", "n't"))]
        if len(content) > 1:
            return None
    return spans[-1][0] if spans else None


def _referent(low: list[str], place: int, state: ConversationState, sentence: str) -> TopicPhrase | None:
    word = low[place]
    if word in _SINGULAR:
        empty = word == "it" and _EMPTY_IT.search(sentence)
        return None if empty else state.topic if state.topic and state.topic.parts else state.topic_in(plural=False)
    if word in _PLURAL:
        found = state.topic_in(plural=True)
        # `They` is not one person: what several names or a group would need to be is not known.
        return None if found and found.is_name and not found.plural and not found.parts else found
    if word in _PERSON:
        return state.named()
    following = low[place + 1] if place + 1 < len(low) else ""
    before = low[place - 1] if place else ""
    ends = not following.isalnum()
    if word in ("this", "these", "those") and (ends or following in VERBS or following in AUXILIARIES) and place:
        return state.topic if before in AUXILIARIES | PREPOSITIONS else None
    if word == "ones" and (ends or following in PREPOSITIONS) and state.topic and state.topic.plural:
        bare = " ".join(one for one in state.topic.text.split() if one.casefold() not in DETERMINERS)
        return None if state.topic.parts else TopicPhrase(bare, plural=True)
    return None


def _is_her_own(low: list[str], place: int) -> bool:
    following = low[place + 1] if place + 1 < len(low) else ""
    return low[place] == "her" and following.isalpha() and following not in PREPOSITIONS | CLAUSE | AUXILIARIES


def _named_before(tokens: list[re.Match[str]], low: list[str], place: int) -> bool:
    """Whether the sentence names a possible referent before the pronoun, in another clause or, for a possessive, in
    the same one."""
    if low[0] == "besides":
        return False
    broken = [at for at in range(1, place) if low[at] in CLAUSE or tokens[at][0] in ",;:"]
    until = place if low[place] in _POSSESSIVE else broken[-1] if broken else 0
    names = [at for at in range(until) if _is_content(low[at]) and at > 0]
    if low[place] in _POSSESSIVE and not broken:
        # `What characteristics do its members have`: the object of the question is not the referent.
        aux = next((at for at in range(place) if low[at] in AUXILIARIES), place)
        names = [at for at in names if at > aux and low[at] not in VERBS]
    return bool(names)


def _is_content(word: str) -> bool:
    return word[0].isalnum() and not (
        word in stop_words("eng") or is_verb(word) or word in RELATIONAL or is_light(word) or word in AUXILIARIES
    )


def _written(topic: TopicPhrase, *, possessive: bool, plural: bool) -> str:
    text = topic.text
    if plural and not topic.plural and text.startswith(("a ", "an ")):
        text = text.partition(" ")[2]
    if not possessive:
        return text
    return f"{text}'" if text.endswith("s") and topic.plural else f"{text}'s"


# --- missing complements: `the symptoms` ---


def _with_complement(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`What are the symptoms?`: adds the topic as the complement."""
    tokens = list(_TOKEN.finditer(question))
    low = [token[0].casefold().replace("’", "'") for token in tokens]
    topic = state.topic
    if topic is None or _last_sentence(question) is None:
        return None
    for place, word in enumerate(low):
        if word not in RELATIONAL or (low[place + 1 : place + 2] == ["and"] and low[place + 2] in RELATIONAL):
            continue
        if not _is_bare(tokens, low, place):
            continue
        at = tokens[place].end()
        joint = "for" if word in FOR else "of"
        rewritten = f"{question[:at]} {joint} {topic.text}{question[at:]}"
        return ResolvedQuestion(rewritten, f"{tokens[place][0]} {joint} {topic.text}", topic)
    return None


def _is_bare(tokens: list[re.Match[str]], low: list[str], place: int) -> bool:
    """Whether the noun has no complement."""
    if tokens[place][0][0].isupper() or _continues(low, place):
        return False
    if low[place] in KINDS and place and low[place - 1] in ("what", "which", "many"):
        return True
    at = place - 1
    while at >= 0 and is_light(low[at]):
        at -= 1
    determined = any(low[one] in ("the", "some", "any", "many", "other") for one in range(at + 1, place))
    if at >= 0 and low[at].partition("'")[0] not in WH | AUXILIARIES | {"about", "there", "me", "tell", "and", ","}:
        return False
    if (
        low[at + 1 : place]
        and low[place] not in EXAMPLES
        and low[at + 1] in ("a", "an", "my", "your", "our", "his", "her", "its", "their")
    ):
        return False
    if at >= 0 and low[at] in COPULAS and not determined and at and low[at - 1] not in WH:
        return False
    # Any other noun may be its complement.
    others = [one for one in range(1, len(low)) if one != place and _is_content(low[one])]
    return not [one for one in others if one > place + 1 or one < at] or low[place + 1] in ("on", "in")


def _continues(low: list[str], place: int) -> bool:
    following = low[place + 1] if place + 1 < len(low) else ""
    return following in COMPLEMENTS or following in VERBS - {"come", "have"} or _is_noun_after(following)


def _is_noun_after(word: str) -> bool:
    return bool(word) and word[0].isalnum() and word not in PREPOSITIONS | AUXILIARIES | CLAUSE | WH | {"there"}


# --- shortened names: `the experiment` ---


def _with_full_name(question: str, state: ConversationState) -> ResolvedQuestion | None:
    """`the experiment` becomes `the Stanford Experiment`, if that is a topic of the conversation."""
    tokens = list(_TOKEN.finditer(question))
    low = [token[0].casefold().replace("’", "'") for token in tokens]
    for place in range(1, len(low)):
        if low[place - 1] not in ("the", "this", "that", "these", "those") or not _is_content(low[place]):
            continue
        following = low[place + 1] if place + 1 < len(low) else ""
        if following == "of" or (_is_noun_after(following) and following not in VERBS and not following.endswith("ed")):
            continue
        topic = state.headed(low[place])
        if topic is None or topic.plural != is_plural(low[place]):
            continue
        full = " ".join(word for word in topic.text.split() if word.casefold() not in DETERMINERS)
        rewritten = f"{question[: tokens[place - 1].start()]}the {full}{question[tokens[place].end() :]}"
        return ResolvedQuestion(rewritten, f"{tokens[place - 1][0]} {tokens[place][0]}: {topic.text}", topic)
    return None
