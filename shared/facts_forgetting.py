"""The facts of forgetting; `shared.facts.FACTS` has them with all others."""

from __future__ import annotations

from typing import Literal

from shared.fact import Fact

#: What can be forgotten: one question, all of a conversation, all of an asker.
Forgettable = Literal["question", "conversation", "asker"]


class ErasureRequested(Fact):
    """Everything of a question, a conversation or an asker is to be forgotten; the correlation id is its own.

    `key` is the id, of an asker the pseudonym or what those of an API key begin with (`shared.askers`).
    """

    said_by = ("gateway",)
    heard_by = ("persistence",)
    aside = True

    what: Forgettable
    key: str


class QuestionsForgotten(Fact):
    """Of these questions nothing is left in the record, the log and the caches; retrieval forgets them too.

    `conversations` are those they were asked in, `erased` counts what there was by its kind. With `rest` there are
    more: persistence goes on with them.
    """

    said_by = ("persistence",)
    heard_by = ("persistence", "retrieval")
    aside = True
    opens_attempt = True

    what: Forgettable
    key: str
    questions: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    erased: dict[str, int] = {}
    rest: bool = False


#: Both; they are about questions and no step of one.
FORGETTING = (ErasureRequested, QuestionsForgotten)
