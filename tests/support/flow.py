"""The facts of a question in order, as the contract has them, so that a new stage needs no change in the tests."""

from __future__ import annotations

from shared.contracts.facts import FACTS

#: Steps that a question takes only sometimes: its translation, and another attempt.
_DETOURS = ("QuestionTranslated", "AnswerRefuted")
#: The facts from the question to the draft, at the first attempt.
STEPS = [name for name, fact in FACTS.items() if not fact.terminal and not fact.out_of_band and name not in _DETOURS]
#: Every fact of a question that is answered at the first attempt, and whose answer nobody evaluates or keeps.
ANSWERED = [*STEPS, "AnswerVerified"]
#: The steps of every attempt.
ATTEMPT = STEPS[STEPS.index("PassagesRetrieved") :]
