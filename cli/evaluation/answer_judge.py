"""Does an answer say what the expected one says? Asked of the model that plays `judge`, where this process has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import BaseModel, Field

from cli.evaluation.answer_metrics import ending
from cli.evaluation.batch_run import Batch, together
from cli.evaluation.batch_store import Side
from cli.evaluation.questions_file import Item
from shared.contracts.errors import ModelError
from shared.llm.call_context import model_calls
from shared.llm.ports import Models
from shared.llm.prompt_blocks import DATA_RULES, block

_CHARS = 6000
SYSTEM = f"""\
You compare an answer with the answer that was expected. Say from 0 to 1 how far the answer gives the asker what the
expected one does: 1 when every point of the expected answer is there and nothing contradicts it, 0 when none is or the
answer contradicts it. Wording, order, length and points beyond the expected answer do not matter.

{DATA_RULES}

Reply with one JSON object and nothing else: {{"agreement": a number from 0 to 1}}"""


class Agreement(BaseModel):
    """What the judge replies."""

    agreement: Annotated[float, Field(ge=0, le=1)]


async def agreement(models: Models, item: Item, answer: str) -> tuple[float | None, float]:
    """The judge's word (None: it gave none that fits), and what asking it cost in US dollars."""
    parts = {"question": item.question, "expected_answer": item.expected_answer, "answer": answer}
    user = "\n\n".join(block(name, text, limit=_CHARS) for name, text in parts.items())
    found: float | None = None
    with model_calls("evaluate") as ledger:
        try:
            found = (await models.invoke("judge", "agreement", SYSTEM, user, Agreement)).agreement
        except ModelError:
            found = None
    return found, sum(call.usage.cost_usd for call in ledger.calls)


async def compare_all(
    models: Models, batch: Batch, todo: Iterable[tuple[Side, Item]], told: Callable[[], None]
) -> None:
    """Compare the answers of these rows with the expected ones and keep what comes of it; none is no agreement.

    What the judge gave no usable word on is left for the next try.
    """
    queue = list(reversed(list(todo)))

    async def worker() -> None:
        while queue:
            side, item = queue.pop()
            row = batch.store.get(side, item.line) or {}
            found: float | None = 0.0
            cost = 0.0
            if ending(row) == "answered":
                found, cost = await agreement(models, item, str(row.get("answer", "")))
            if found is not None:
                batch.store.put(side, item.line, agreement=found, agreement_cost_usd=cost)
            told()

    await together(worker() for _ in range(batch.at_once))
