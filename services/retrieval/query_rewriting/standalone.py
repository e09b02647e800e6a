"""The question as it stands by itself, by rule: what it leaves to the conversation is put in. Pure.

For English and French; in other languages a question stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from services.retrieval.query_rewriting import english, french
from services.retrieval.query_rewriting.topics import Resolved, State, Topic
from shared.contracts.domain import Turn
from shared.text.analysis import guess_language, stems
from shared.text.languages import UNKNOWN

_GRAMMARS: dict[str, ModuleType] = {"eng": english, "fra": french}
#: So many earlier turns are read, and no longer ones; a longer question stands by itself.
_TURNS, _CHARS = 12, 400
_REFERRING = {
    "eng": re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|ones?)\b", re.IGNORECASE),
    "fra": re.compile(r"\b(?:ils?|elles?|ça|cela|ceci|celui|celle|ceux|son|sa|ses|leurs?|y|en)\b", re.IGNORECASE),
}
#: What a choice is said with.
_FILLING = frozenset(("one", "pleas", "mean"))
#: The end of an answer that was a question back, and its options.
_ASKED_BACK = re.compile(r"[?？؟]\s*(?:\((?P<options>[^()]*)\))?\s*$")


def standalone(question: str, turns: Sequence[Turn], language: str = UNKNOWN) -> Resolved:
    """The question with what the earlier turns (oldest first) say of it; those are read in the same way, one by one.

    Where the turn before asked back, and the question names one of its options, the question before that is meant.
    """
    grammar = _GRAMMARS.get(language if language != UNKNOWN else guess_language(question, tuple(_GRAMMARS)), english)
    if language not in (*_GRAMMARS, UNKNOWN) or not turns or len(question) > _CHARS:
        return Resolved(question)
    state, asked = State(), State()
    for turn in (one for one in turns[-_TURNS:] if one.question):  # a summary asks nothing
        earlier = turn.question[-_CHARS:]
        done = _answered(earlier, asked, grammar) or grammar.resolve(earlier, state)
        state = state.about(done.meant or grammar.topic_of(done.question), done.question)
        asked = _choice(done, turn) if times_asked_back((turn,)) else State()
    return _answered(question, asked, grammar) or grammar.resolve(question, state)


def refers_back(question: str, language: str = UNKNOWN) -> bool:
    """Whether it has a word that stands for something said before, or is too short to say what it asks for."""
    return bool(_REFERRING.get(language, _REFERRING["eng"]).search(question)) or len(stems(question, language)) < 2


def times_asked_back(turns: Sequence[Turn]) -> int:
    """How many of the last turns in a row were questions back."""
    count = 0
    for turn in reversed(turns):
        if not _ASKED_BACK.search(turn.answer):
            break
        count += 1
    return count


def _choice(asked: Resolved, turn: Turn) -> State:
    """What the asker was given to choose from, for that question."""
    found = _ASKED_BACK.search(turn.answer)
    options = [one.strip() for one in (found["options"] or "").split(";")] if found else []
    return State(tuple(Topic(one) for one in options if one), asked.question)


def _answered(reply: str, asked: State, grammar: ModuleType) -> Resolved | None:
    """The question that was asked back about, of the option that the reply names; None when it names none, or asks
    something else."""
    said = set(stems(reply)) - _FILLING
    named = [one for one in asked.topics if said & _own(one, asked.topics)]
    if len(named) != 1 or not said <= set(stems(named[0].text)):
        return None
    resolved: Resolved = grammar.resolve(asked.question, State((named[0],)))
    if resolved.question == asked.question:
        return Resolved(f"{asked.question.rstrip(' ?')} ({named[0].text})?", f"meant: {named[0].text}", named[0])
    return resolved


def _own(option: Topic, options: Sequence[Topic]) -> set[str]:
    """The stems that only this option has; all of its own when it has none."""
    others = {stem for one in options if one is not option for stem in stems(one.text)}
    return set(stems(option.text)) - others or set(stems(option.text))
