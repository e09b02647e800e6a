"""One search: every leg asked, their rankings fused, the judgements applied in order, each of them told of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.retrieval.diversity import diverse
from services.retrieval.fusion import fuse
from services.retrieval.legs import Finding, ask_all, since
from services.retrieval.ports import Leg, Wanted
from services.retrieval.settings import RetrievalSettings
from shared.asks.retrieval import Explanation, LegTold, Placed, StepTold
from shared.domain import Passage
from shared.errors import UnavailableError

#: Candidates fetched by each leg for every passage wanted, when more are wanted than a question needs.
_CANDIDATES_EACH = 3


@dataclass
class Found:
    """What a search came to: the passages, and all that led to them."""

    passages: list[Passage]
    findings: list[Finding]
    steps: list[StepTold] = field(default_factory=list)
    took_ms: float = 0.0

    @property
    def trace(self) -> dict[str, Any]:
        """Small enough for an event: figures and reasons, no texts."""
        legs = {finding.leg: _figures(finding) for finding in self.findings}
        missing = {finding.leg: finding.missing for finding in self.findings if finding.missing}
        return {**legs, **({"missing": missing} if missing else {}), "took_ms": self.took_ms}

    def explanation(self) -> Explanation:
        legs = tuple(
            LegTold(name=one.leg, took_ms=one.took_ms, missing=one.missing, hits=placed(one.hits))
            for one in self.findings
        )
        return Explanation(legs=legs, steps=tuple(self.steps))


class Searcher:
    """Finds passages by all the legs there are."""

    def __init__(self, legs: Sequence[Leg]) -> None:
        self._legs = tuple(legs)

    async def search(
        self,
        text: str,
        settings: RetrievalSettings,
        *,
        language: str = "und",
        count: int = 0,
        collections: Sequence[str] = (),
        only: Sequence[str] = (),
        explain: bool = False,
    ) -> Found:
        """The best `count` passages (0: as many as the settings say), found by the legs in `only` (none: by all).

        Raises:
            UnavailableError: no leg could search.
        """
        began = time.perf_counter()
        count = count or settings.passages
        wanted = Wanted(
            text,
            language,
            max(settings.candidates, count * _CANDIDATES_EACH),
            tuple(collections) or settings.collections,
        )
        named = only or settings.legs
        asked = [leg for leg in self._legs if leg.name in named]
        findings = await ask_all(asked, wanted, settings.seconds)
        if findings and all(finding.missing for finding in findings):
            raise UnavailableError(f"nothing could be searched: {findings[0].missing}")
        found = Found([], findings)
        steps = _Steps(found, explain=explain)
        passages = steps.take("fusion", [], lambda _: fuse({one.leg: one.hits for one in findings}))
        found.passages = steps.take("diversity", passages, lambda given: _diverse(given, settings, count))
        found.took_ms = since(began)
        return found


class _Steps:
    """Applies judgements, and tells of each when an explanation is wanted."""

    def __init__(self, found: Found, *, explain: bool) -> None:
        self._found = found
        self._explain = explain

    def take(self, name: str, given: list[Passage], judge: Callable[[list[Passage]], list[Passage]]) -> list[Passage]:
        began = time.perf_counter()
        kept = judge(given)
        if self._explain:
            told = StepTold(name=name, took_ms=since(began), before=placed(given), after=placed(kept))
            self._found.steps.append(told)
        return kept


def placed(passages: Sequence[Passage]) -> tuple[Placed, ...]:
    return tuple(
        Placed(rank=rank, id=one.id, source=one.source, title=one.title, score=one.score, via=one.via)
        for rank, one in enumerate(passages, 1)
    )


def _diverse(passages: list[Passage], settings: RetrievalSettings, count: int) -> list[Passage]:
    return diverse(passages, count=count, per_source=settings.per_source, duplicate_share=settings.duplicate_share)


def _figures(finding: Finding) -> dict[str, Any]:
    top = finding.hits[0].score if finding.hits else 0.0
    return {"candidates": len(finding.hits), "took_ms": finding.took_ms, "top_score": top}
