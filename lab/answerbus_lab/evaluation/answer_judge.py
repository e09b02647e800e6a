"""Compares an answer with the expected one, by the model in the role `judge`, if this process has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import BaseModel, Field

from answerbus_lab.evaluation.answer_metrics import outcome_word
from answerbus_lab.evaluation.batch_run import BatchRun, run_all
from answerbus_lab.evaluation.batch_store import EvaluatedPipeline
from answerbus_lab.evaluation.questions_file import QuestionItem
from shared.contracts.errors import ModelError
from shared.llm.call_context import model_calls
from shared.llm.ports import Models
from shared.llm.prompt_blocks import DATA_RULES, block

#: Characters of each text that the judge reads.
_CHARS = 6000
SYSTEM = f"""\
You compare an answer with the answer that was expected. Say from 0 to 1 how far the answer gives the asker what the
expected one does: 1 when every point of the expected answer is there and nothing contradicts it, 0 when none is or the
answer contradicts it. Wording, order, length and points beyond the expected answer do not matter.

{DATA_RULES}

Reply with one JSON object and nothing else: {{"agreement": a number from 0 to 1}}"""


class Agreement(BaseModel):
    """The reply of the judge."""

    agreement: Annotated[float, Field(ge=0, le=1)]


async def agreement(models: Models, item: QuestionItem, answer: str) -> tuple[float | None, float]:
    """The agreement from 0 to 1 (None: the judge gave no valid reply), and the cost of the call in US dollars."""
    parts = {"question": item.question, "expected_answer": item.expected_answer, "answer": answer}
    user = "\n\n".join(block(name, text, limit=_CHARS) for name, text in parts.items())
    score: float | None = None
    with model_calls("evaluate") as ledger:
        try:
            score = (await models.invoke("judge", "agreement", SYSTEM, user, Agreement)).agreement
        except ModelError:
            score = None
    return score, sum(call.usage.cost_usd for call in ledger.calls)


async def compare_all(
    models: Models, batch: BatchRun, todo: Iterable[tuple[EvaluatedPipeline, QuestionItem]], advance: Callable[[], None]
) -> None:
    """Compare these answers with the expected ones and store the agreement; a question without an answer has 0.

    Answers for which the judge gives no valid reply are compared again when the run is resumed.
    """
    queue = list(reversed(list(todo)))

    async def worker() -> None:
        while queue:
            pipeline, item = queue.pop()
            row = batch.store.get(pipeline, item.line) or {}
            score: float | None = 0.0
            cost = 0.0
            if outcome_word(row) == "answered":
                score, cost = await agreement(models, item, str(row.get("answer", "")))
            if score is not None:
                batch.store.put(pipeline, item.line, agreement=score, agreement_cost_usd=cost)
            advance()

    await run_all(worker() for _ in range(batch.at_once))
