"""A model says which answer of a pair is better; each pair is read twice, with the answers in either place.

Models prefer an answer for its place (Zheng and others, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, 2023):
a pair with two readings that disagree is a tie.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from answerbus_lab.evaluation.batch_run import BudgetError, run_all
from answerbus_lab.evaluation.json_lines import kept_lines
from answerbus_lab.experiments.confidence_sequence import LEAST, estimate
from answerbus_lab.experiments.pairs import SEGMENTS, Pair, by_segment
from shared.contracts.domain import Value
from shared.contracts.errors import ConfigurationError, ModelError, RefusedError
from shared.llm.call_context import model_calls
from shared.llm.fallback import FallbackModels
from shared.llm.ports import Models
from shared.llm.prompt_blocks import DATA_RULES, block
from shared.llm.settings import ModelsSettings
from shared.runtime.settings import Settings

JUDGEMENTS = "judgements.jsonl"
#: Characters of each text that the judge reads.
_CHARS = 6000
SYSTEM = f"""\
You compare two answers to one question. Say which one serves the asker better: it is right, it answers what was asked,
and it leaves out what was not. An answer that says honestly that nothing was found is better than one that invents, and
worse than one that answers. Neither length nor the order of the answers counts. Where neither is better, say tie.

{DATA_RULES}

Reply with one JSON object and nothing else: {{"better": "first", "second" or "tie"}}"""
Place = Literal["first", "second", "tie"]


class PlaceVerdict(BaseModel):
    """The reply of the judge."""

    better: Place


class PairJudgement(Value):
    """What the judge said of a pair, by its live and shadow ids: `straight` with the live answer first, then `swapped`.

    Both are empty where the answers are the same.
    """

    live: str
    shadow: str
    straight: Place | Literal[""] = ""
    swapped: Place | Literal[""] = ""
    cost_usd: float = 0.0

    @property
    def preference(self) -> int:
        """1: the candidate's answer is better in both readings, -1: the live one's, 0: a tie."""
        if (self.straight, self.swapped) == ("second", "first"):
            return 1
        return -1 if (self.straight, self.swapped) == ("first", "second") else 0

    @property
    def swayed(self) -> bool:
        """Whether the same place was better in both readings, whichever answer was there."""
        return self.straight == self.swapped and self.straight in ("first", "second")


def read_judgements(folder: Path) -> list[PairJudgement]:
    """The judgements in the folder of an experiment; an incomplete last line is dropped.

    Raises:
        RefusedError: it cannot be read.
    """
    path = folder / JUDGEMENTS
    try:
        return [PairJudgement.model_validate_json(line) for line in kept_lines(path)]
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise RefusedError(f"{path}: does not hold judgements") from None


@contextlib.asynccontextmanager
async def judging_models(name: str) -> AsyncIterator[Models]:
    """The models of this process; with a `name`, that endpoint plays the role `judge`.

    Raises:
        ConfigurationError: the endpoint does not exist, or none plays the role.
    """
    configured = Settings().model_endpoints
    if name:
        names = [endpoint.name for endpoint in configured.endpoints]
        if name not in names:
            known = ", ".join(names) or "none"
            raise ConfigurationError(f"--model {name}: no endpoint has this name; endpoints: {known}")
        configured = ModelsSettings(endpoints=configured.endpoints, roles={"judge": (name,)})
    models = FallbackModels.from_settings(configured)
    try:
        if not models.has("judge"):
            raise ConfigurationError("no model plays the role judge; set ANSWERBUS_MODELS, see docs/models.md")
        yield models
    finally:
        await models.close()


class PairJudge:
    """Judges the pairs of an experiment, `at_once` at a time; `max_cost` is in US dollars (0: no limit)."""

    def __init__(self, models: Models, folder: Path, at_once: int, max_cost: float) -> None:
        """Go on after what the folder has.

        Raises:
            RefusedError: its judgements cannot be read.
        """
        self._models, self._folder, self._at_once, self._max_cost = models, folder, at_once, max_cost
        self._known = {
            (read_judgement.live, read_judgement.shadow): read_judgement for read_judgement in read_judgements(folder)
        }

    def done(self, pairs: Sequence[Pair]) -> int:
        """How many of the pairs are judged."""
        return sum(_key(pair) in self._known for pair in pairs)

    async def judge(self, pairs: Sequence[Pair], advance: Callable[[], None]) -> None:
        """Judge those that are not judged yet; each is on disk before `advance` is called.

        A pair for which the judge gives no valid reply is left for the next run.

        Raises:
            BudgetError: the judge has cost more than its limit.
        """
        queue = [pair for pair in reversed(pairs) if _key(pair) not in self._known]

        async def worker() -> None:
            while queue:
                if self._max_cost and self._spent() >= self._max_cost:
                    raise BudgetError(f"the judge has cost {self._spent():.4f} USD of {self._max_cost:.4f}")
                judgement = await self._judged(queue.pop())
                if judgement is not None:
                    self._keep(judgement)
                advance()

        await run_all(worker() for _ in range(self._at_once))

    async def _judged(self, pair: Pair) -> PairJudgement | None:
        ids = {"live": pair.live.id, "shadow": pair.shadow.id}
        if pair.live.answer == pair.shadow.answer:
            return PairJudgement.model_validate(ids)
        with model_calls("evaluate") as ledger:
            try:
                straight = await self._better(pair.question, pair.live.answer, pair.shadow.answer)
                swapped = await self._better(pair.question, pair.shadow.answer, pair.live.answer)
            except ModelError:
                return None
        cost = sum(call.usage.cost_usd for call in ledger.calls)
        return PairJudgement.model_validate({**ids, "straight": straight, "swapped": swapped, "cost_usd": cost})

    async def _better(self, question: str, first: str, second: str) -> Place:
        parts = {"question": question, "first_answer": first, "second_answer": second}
        user = "\n\n".join(block(name, text, limit=_CHARS) for name, text in parts.items())
        return (await self._models.invoke("judge", "preference", SYSTEM, user, PlaceVerdict)).better

    def _spent(self) -> float:
        return sum(judgement.cost_usd for judgement in self._known.values())

    def _keep(self, judgement: PairJudgement) -> None:
        with (self._folder / JUDGEMENTS).open("a", encoding="utf-8") as file:
            file.write(judgement.model_dump_json() + "\n")
        self._known[judgement.live, judgement.shadow] = judgement


def preferences(pairs: Sequence[Pair], judgements: Sequence[PairJudgement]) -> dict[str, Any]:
    """How often which answer is better, over all judged pairs and by segment; empty where none is judged.

    `preference` is the mean of 1 (candidate), 0 (tie) and -1 (live); its interval holds at every look.
    """
    by_ids = {(judgement.live, judgement.shadow): judgement for judgement in judgements}
    judged = [pair for pair in pairs if _key(pair) in by_ids]
    if not judged:
        return {}
    segments = {
        segment: {
            value: _counted([by_ids[_key(pair)] for pair in found])
            for value, found in by_segment(judged, segment).items()
            if len(found) >= LEAST
        }
        for segment in SEGMENTS
    }
    everything = [by_ids[_key(pair)] for pair in judged]
    return {
        **_counted(everything),
        "swayed": sum(judgement.swayed for judgement in everything),
        "cost_usd": round(sum(judgement.cost_usd for judgement in everything), 6),
        "segments": {name: found for name, found in segments.items() if found},
    }


def _counted(judgements: Sequence[PairJudgement]) -> dict[str, Any]:
    values = [float(judgement.preference) for judgement in judgements]
    found = estimate(values)
    bounded = found.count >= LEAST
    return {
        "pairs": len(values),
        "candidate": values.count(1.0),
        "tie": values.count(0.0),
        "live": values.count(-1.0),
        "preference": round(found.mean, 4),
        "low": round(found.low, 4) if bounded else None,
        "high": round(found.high, 4) if bounded else None,
        "says": "better" if found.above else "worse" if found.below else "open",
    }


def _key(pair: Pair) -> tuple[str, str]:
    return pair.live.id, pair.shadow.id
