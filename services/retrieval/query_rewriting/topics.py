"""What conversations are about: the noun phrases of a question, and which of them a later question may mean.

The topic of a conversation goes on while its questions refer back to it, and changes where one names another: the
backward-looking centre of Grosz, Joshi and Weinstein (Centering, Computational Linguistics 21(2), 1995), found here by
the form of the question alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.text.analysis import stems


def word_set(text: str) -> frozenset[str]:
    """The words of the text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Topic:
    """A noun phrase as it was written, with its article where it had one.

    `parts` are the phrases of an enumeration or comparison (`the red card and the blue card`), none for a single thing.
    """

    text: str
    plural: bool = False
    parts: tuple[str, ...] = ()

    @property
    def is_name(self) -> bool:
        """Whether it is written like a name: a word after the first, or the only one, begins with a capital."""
        said = [word for word in self.text.split() if word.casefold() not in _ARTICLES]
        return any(word[:1].isupper() for word in said)


_ARTICLES = frozenset(("the", "a", "an", "le", "la", "les", "un", "une", "des"))


@dataclass(frozen=True, slots=True)
class State:
    """Where a conversation stands: its topics, the present one first, and its last question as it stands by itself."""

    topics: tuple[Topic, ...] = ()
    question: str = ""

    @property
    def topic(self) -> Topic | None:
        return self.topics[0] if self.topics else None

    def about(self, topic: Topic | None, question: str) -> State:
        """The state after a question; its topic, where it has a new one, comes first."""
        if topic is None:
            return State(self.topics, question)
        others = tuple(one for one in self.topics if one.text.casefold() != topic.text.casefold())
        return State((topic, *others)[:_KEPT], question)

    def topic_in(self, *, plural: bool) -> Topic | None:
        """The latest topic of that number, else the present one."""
        return next((one for one in self.topics[:_LOOKED_BACK] if one.plural == plural), self.topic)

    def named(self) -> Topic | None:
        """The latest topic that is written like a name; of `Ada Lovelace's religion` it is who has it."""
        for one in self.topics[:_LOOKED_BACK]:
            if one.is_name:
                return Topic(re.split("['’]s? ", one.text, maxsplit=1)[0])
        return None

    def headed(self, noun: str) -> Topic | None:
        """The latest topic that says more, and ends with that noun: `the Stanford Experiment` for `experiment`."""
        wanted = stems(noun)[-1:]
        for one in self.topics:
            said = stems(one.text)
            if wanted and len(said) > 1 and said[-1:] == wanted and not one.parts:
                return one
        return None


#: Topics that are remembered, and among how many a pronoun chooses by its number.
_KEPT, _LOOKED_BACK = 8, 3


@dataclass(frozen=True, slots=True)
class Resolved:
    """A question that stands by itself; `why` says what was done to it (empty: nothing had to be).

    `meant` is the topic that it refers back to; `several` are the things a pronoun of it can mean, where it cannot be
    told which: then the question is as it was.
    """

    question: str
    why: str = ""
    meant: Topic | None = None
    several: tuple[str, ...] = ()
    #: The words that can mean several things.
    unclear: str = ""
