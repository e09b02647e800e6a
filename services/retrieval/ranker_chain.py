"""The judgements of one search in their order, each told of when an explanation is wanted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from services.retrieval.rankers.acronyms import expand
from services.retrieval.rankers.categories import Filters, detect, filtered
from services.retrieval.rankers.departments import Matter, match
from services.retrieval.rankers.diversity import DiversitySettings, diverse
from services.retrieval.rankers.duplicates import DuplicateSettings, distinct
from services.retrieval.rankers.explanation import Explanation
from services.retrieval.rankers.feedback import Polled, weighed
from services.retrieval.rankers.progression import first_few
from services.retrieval.rankers.recency import newer_first
from services.retrieval.rankers.reranking import reasons
from services.retrieval.rankers.scenarios import Scenario, applying
from services.retrieval.retrievers.parallel import since
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import Placed, StepTold

T = TypeVar("T")
Judged = tuple[T, Explanation]
#: What is kept of a judgement in an event.
_NOTE_CHARS = 200


class Judging:
    """Applies judgements. `steps` tells of every one when `explain` is set; `noted` of those that changed something."""

    def __init__(self, settings: RetrievalSettings, *, explain: bool = False) -> None:
        self._settings = settings
        self.explains = explain
        self.steps: list[StepTold] = []
        self.noted: dict[str, Any] = {}

    def again(self) -> Judging:
        """Another one that begins with what this one has told."""
        other = Judging(self._settings, explain=self.explains)
        other.steps, other.noted = list(self.steps), dict(self.noted)
        return other

    def question(self, text: str) -> tuple[str, Filters]:
        """The question as it is searched for, and what its category demands."""
        searched = self._of_question(lambda: expand(text, self._settings.acronyms))
        return searched, self._of_question(lambda: detect(text, self._settings.categories))

    def fusion(
        self,
        name: str,
        given: Sequence[Passage],
        ranked: Callable[[], list[Passage]],
        explained: Explanation | None = None,
    ) -> list[Passage]:
        """A ranking that was made of others."""
        return self._of_passages(given, lambda _: (ranked(), explained or Explanation(name)))

    def second_look(self, text: str, passages: Sequence[Passage]) -> tuple[str, ...]:
        """Why the passages (best first) should be ranked again; none: they need not."""
        why = self._of_question(lambda: reasons(text, passages[:3], self._settings.reranking))
        if why:
            self.noted["second_look"] = list(why)
        return why

    def weighed(self, passages: list[Passage], filters: Filters, votes: Polled) -> list[Passage]:
        """Without what the category excludes, moved by feedback, the newer first among equals."""
        settings = self._settings
        polled = partial(votes, settings=settings.feedback)
        passages = self._of_passages(passages, lambda given: filtered(given, filters, settings.categories))
        passages = self._of_passages(passages, lambda given: weighed(given, polled, settings.feedback))
        return self._of_passages(passages, lambda given: newer_first(given, settings.recency))

    def chosen(self, passages: list[Passage], count: int) -> list[Passage]:
        """The first `count` that say something of their own, not too many of one document."""
        settings = self._settings
        same = DuplicateSettings(share=settings.duplicate_share)
        spread = DiversitySettings.model_construct(passages=count, per_source=settings.per_source)
        # No more is compared than it takes to find enough: comparing reads every word.
        window = count + 2
        judged = distinct(passages[:window], same)
        while window < len(passages) and len(diverse(judged[0], spread)[0]) < count:
            window *= 2
            judged = distinct(passages[:window], same)
        passages = self._of_passages(passages[:window], lambda _: judged)
        return self._of_passages(passages, lambda given: diverse(given, spread))

    def enough(self, text: str, passages: list[Passage], language: str) -> list[Passage]:
        """The first few, where the pipeline has it that these may do."""
        progression = self._settings.progression
        if progression is None:
            return passages
        return self._of_passages(passages, lambda given: first_few(text, given, progression, language=language))

    def told(self, explained: Explanation, passages: Sequence[Passage], took_ms: float = 0.0) -> None:
        """What was decided elsewhere, and the ranking it came to."""
        self._tell(explained, (), passages, took_ms)

    def matter(self, text: str, passages: Sequence[Passage]) -> tuple[Matter, list[Scenario]]:
        """Whose business it is, and the scenarios that apply."""
        settings = self._settings
        matter = self._of_question(lambda: match(text, passages, settings.departments))
        scenarios = self._of_question(lambda: applying(text, matter, settings.scenarios))
        if matter.url:
            self.noted["read_on"] = matter.url
        return matter, scenarios

    def _of_question(self, judge: Callable[[], Judged[T]]) -> T:
        began = time.perf_counter()
        value, explained = judge()
        self._tell(explained, (), (), since(began))
        return value

    def _of_passages(
        self, given: Sequence[Passage], judge: Callable[[Sequence[Passage]], Judged[list[Passage]]]
    ) -> list[Passage]:
        began = time.perf_counter()
        kept, explained = judge(given)
        self._tell(explained, given, kept, since(began))
        return kept

    def _tell(
        self, explained: Explanation, before: Sequence[Passage], after: Sequence[Passage], took_ms: float
    ) -> None:
        told = [change.what for change in explained.changes if not change.passage]
        if told:
            self.noted[explained.judgement] = "; ".join(told)[:_NOTE_CHARS]
        if self.explains:
            changes = tuple(change.as_dict() for change in explained.changes)
            step = StepTold(
                name=explained.judgement, took_ms=took_ms, before=placed(before), after=placed(after), changes=changes
            )
            self.steps.append(step)


def placed(passages: Sequence[Passage]) -> tuple[Placed, ...]:
    """The ranking without the texts."""
    return tuple(
        Placed(rank=rank, id=one.id, source=one.source, title=one.title, score=one.score, via=one.via)
        for rank, one in enumerate(passages, 1)
    )
