"""One search: every leg asked, their rankings fused, the walk taken from there, the judgements applied."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from services.retrieval.document_retriever import WholeSources
from services.retrieval.ports import Leg, Reranker, Shelf, Wanted
from services.retrieval.query_rewriting.rewriter import Step
from services.retrieval.rank_fusion import fuse, walked
from services.retrieval.ranker_chain import Judging, placed
from services.retrieval.rankers.categories import Filters
from services.retrieval.rankers.feedback import Polled, nobody_voted
from services.retrieval.rankers.scenarios import quoted
from services.retrieval.rerank_step import look_again
from services.retrieval.retrievers.parallel import Finding, LinksLeg, ask, ask_all, since
from services.retrieval.settings import RetrievalSettings
from shared.contracts.domain import Passage
from shared.contracts.errors import UnavailableError
from shared.contracts.requests.retrieval import Explanation, LegTold, StepTold

#: Candidates fetched by each leg for every passage wanted, when more are wanted than a question needs.
_CANDIDATES_EACH = 2
#: Of a ranking so many are read at first, and as many as are wanted for each passage wanted; of more than these come
#: only those whom nearly all of the others have to give way to.
_READ = 32


@dataclass(frozen=True)
class Sought:
    """What is asked of a search: `count` passages (0: as a question gets them), by the legs in `only` (none: all)."""

    text: str
    language: str = "und"
    count: int = 0
    collections: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    explain: bool = False
    #: How the question came to be this text.
    told: tuple[Step, ...] = ()


@dataclass
class Found:
    """What a search came to, and what led to it; `noted` is small enough for an event, `notes` are for the answer."""

    passages: list[Passage]
    findings: list[Finding]
    steps: list[StepTold] = field(default_factory=list)
    noted: dict[str, Any] = field(default_factory=dict)
    department: str = ""
    topic: str = ""
    notes: tuple[str, ...] = ()
    took_ms: float = 0.0

    @property
    def missing(self) -> dict[str, str]:
        """The legs that could not search, and why."""
        return {finding.leg: finding.missing for finding in self.findings if finding.missing}

    @property
    def trace(self) -> dict[str, Any]:
        """Figures and reasons, no texts."""
        legs = {finding.leg: _figures(finding) for finding in self.findings}
        missing = {"missing": self.missing} if self.missing else {}
        return {**legs, **missing, **self.noted, "took_ms": self.took_ms}

    def explanation(self) -> Explanation:
        legs = tuple(
            LegTold(name=one.leg, took_ms=one.took_ms, missing=one.missing, hits=placed(one.hits))
            for one in self.findings
        )
        return Explanation(legs=legs, steps=tuple(self.steps))


class Searcher:
    """Finds passages by all the legs there are. `links`, where there is one, goes on from what the others found.

    `shelf` is where the passages are read that legs give bare; `wholes` loads whole sources for the pipelines that want
    these.
    """

    def __init__(
        self,
        legs: Sequence[Leg],
        links: LinksLeg | None = None,
        votes: Polled = nobody_voted,
        shelf: Shelf | None = None,
        wholes: WholeSources | None = None,
        rerankers: Sequence[Reranker] = (),
    ) -> None:
        self._legs = tuple(legs)
        self._links = links
        self._votes = votes
        self._shelf = shelf
        self._wholes = wholes
        self._rerankers = {reranker.name: reranker for reranker in rerankers}

    async def search(self, sought: Sought, settings: RetrievalSettings) -> Found:
        """The best passages, and how they were found.

        Raises:
            UnavailableError: no leg could search.
        """
        began = time.perf_counter()
        judging = Judging(settings, explain=sought.explain)
        for step in sought.told:
            judging.told(step.explained, (), step.took_ms)
        text, filters = judging.question(sought.text)
        limit = max(settings.candidates, sought.count * _CANDIDATES_EACH)
        collections = sought.collections or filters.collections or settings.collections
        wanted = Wanted(text, sought.language, limit, tuple(collections), settings.web_results)
        whole = await self._load(wanted, sought, settings, judging)
        found = whole if whole and whole.passages else await self._ask(wanted, sought.only, settings, judging)
        if whole is found:
            passages = whole.passages[: sought.count or None]
        else:
            found.findings += whole.findings if whole else []
            passages, judging = await self._choose(found.passages, sought, settings, filters, judging)
        matter, scenarios = judging.matter(sought.text, passages)
        found.department, found.topic = matter.department, matter.topic
        found.notes = tuple(one.text for one in scenarios if not one.quotable)
        enough = sought.count or whole is found
        passages = passages if enough else judging.enough(sought.text, passages, sought.language)
        found.passages = [*quoted(scenarios, passages), *passages][: sought.count or None]
        found.steps, found.noted = judging.steps, judging.noted
        found.took_ms = since(began)
        return found

    async def _choose(
        self,
        ranking: Sequence[Passage],
        sought: Sought,
        settings: RetrievalSettings,
        filters: Filters,
        judging: Judging,
    ) -> tuple[list[Passage], Judging]:
        """As many of the ranking as are wanted; no more of it is read than that takes."""
        count = sought.count or settings.passages
        window = len(ranking) if sought.explain else max(_READ, count * _CANDIDATES_EACH)
        while True:
            trial = judging.again()
            passages = trial.weighed(await self._read(ranking[:window]), filters, self._votes)
            passages = await self._again(sought, passages, settings, trial)
            passages = trial.chosen(passages, count)
            if len(passages) >= count or window >= len(ranking):
                return passages, trial
            window = len(ranking)

    async def _read(self, passages: Sequence[Passage]) -> list[Passage]:
        """With their texts; passages that are gone since are left out."""
        bare = [passage.id for passage in passages if not passage.source]
        if self._shelf is None or not bare:
            return list(passages)
        known = {passage.id: passage for passage in await self._shelf.fetch(bare)}
        return [
            passage if passage.source else known[passage.id].model_copy(update=_found(passage))
            for passage in passages
            if passage.source or passage.id in known
        ]

    async def _again(
        self, sought: Sought, passages: list[Passage], settings: RetrievalSettings, judging: Judging
    ) -> list[Passage]:
        return await look_again(sought.text, sought.language, passages, settings, judging, self._rerankers)

    async def _load(
        self, wanted: Wanted, sought: Sought, settings: RetrievalSettings, judging: Judging
    ) -> Found | None:
        """Whole sources, where the pipeline has it so and no legs were asked for by name; perhaps none."""
        if self._wholes is None or settings.strategy != "index" or sought.only:
            return None
        leg = self._wholes.within(settings.index, settings.project_introduction)
        finding = await ask(leg, wanted, settings.seconds_to_choose)
        judging.told(leg.explained, finding.hits)
        return Found(list(finding.hits), [finding])

    async def _ask(self, wanted: Wanted, only: Sequence[str], settings: RetrievalSettings, judging: Judging) -> Found:
        named = only or settings.legs
        # A walk by itself needs somewhere to start from.
        asked = [leg for leg in self._legs if leg.name in named] or self._legs[:1]
        findings = [await self._told(one, judging) for one in await ask_all(asked, wanted, settings.seconds)]
        if all(finding.missing for finding in findings):
            raise UnavailableError(f"nothing could be searched: {findings[0].missing}")
        rankings = {finding.leg: finding.hits for finding in findings}
        weights = {"web": settings.web_weight}
        limit = wanted.limit
        passages = judging.fusion(
            "fusion", (), lambda: fuse(rankings, by=settings.fusion, weights=weights, limit=limit)
        )
        if self._links is not None and "graph" in named:
            links = self._links.starting(passages)
            walk = await self._told(await ask(links, wanted, settings.graph_seconds), judging)
            findings.append(walk)
            if walk.hits:
                seeds = passages
                passages = judging.fusion("walk", seeds, lambda: walked(seeds, walk.hits, limit=limit))
        return Found(passages, findings)

    async def _told(self, finding: Finding, judging: Judging) -> Finding:
        """With texts where it is explained what every leg found."""
        return replace(finding, hits=tuple(await self._read(finding.hits))) if judging.explains else finding


def _found(passage: Passage) -> dict[str, Any]:
    return {"score": passage.score, "via": passage.via}


def _figures(finding: Finding) -> dict[str, Any]:
    top = finding.hits[0].score if finding.hits else 0.0
    return {"candidates": len(finding.hits), "took_ms": finding.took_ms, "top_score": top}
