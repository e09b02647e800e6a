"""Forgetting on an operator's word: said as a fact, so that it completes whatever dies meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from services.gateway.stream import LiveFeed, wait_for
from shared.bus.ports import EventLog, FactPublisher, StoredEvent, decodable_events
from shared.contracts.envelope import Event, new_correlation_id, opening
from shared.contracts.errors import ConfigurationError, NotFoundError
from shared.contracts.facts import ErasureRequested, Fact, Forgettable, QuestionsForgotten
from shared.contracts.pipelines import PipelineSource
from shared.runtime.settings import Settings

#: Seconds an erasure has; it is an aside, which is tried again for as long as it takes.
DEADLINE = 3600.0


class Oblivion:
    """The gateway's use case over its ports."""

    def __init__(
        self, settings: Settings, pipelines: PipelineSource, facts: FactPublisher, event_log: EventLog, feed: LiveFeed
    ) -> None:
        self._settings = settings
        self._pipelines = pipelines
        self._facts = facts
        self._log = event_log
        self._feed = feed

    async def forget(self, what: Forgettable, key: str, patience: float) -> dict[str, Any]:
        """Ask for it, and wait so many seconds until it is done; returns the report.

        Raises:
            UnavailableError: the bus did not take the wish.
        """
        cid = new_correlation_id()
        pipeline = self._pipelines.current(self._settings.default_pipeline)
        if pipeline is None:
            raise ConfigurationError(f"no pipeline is called {self._settings.default_pipeline!r}")
        wish = opening(
            "gateway",
            ErasureRequested(what=what, key=key),
            pipeline=pipeline,
            deadline_seconds=DEADLINE,
            correlation_id=cid,
            tenant=self._settings.tenant,
        )
        queue = self._feed.watch(cid)
        try:
            await self._facts.publish(wish)
            await wait_for(_is_done, queue, self._log, cid, patience)
        finally:
            self._feed.forget(cid, queue)
        return await self.report(cid)

    async def report(self, correlation_id: str) -> dict[str, Any]:
        """How far an erasure has come.

        Raises:
            NotFoundError: the log knows of none under that id.
        """
        report = told(decodable_events(await self._log.history(correlation_id)))
        if report is None:
            raise NotFoundError(f"no erasure {correlation_id} in the log")
        return report


def told(events: Sequence[Event[Fact]]) -> dict[str, Any] | None:
    """The report of an erasure from its facts; None where there was no such wish."""
    wish = next((event for event in events if isinstance(event.payload, ErasureRequested)), None)
    if wish is None:
        return None
    assert isinstance(wish.payload, ErasureRequested)
    steps = [event.payload for event in events if isinstance(event.payload, QuestionsForgotten)]
    erased: Counter[str] = Counter()
    for step in steps:
        erased.update(step.erased)
    return {
        "id": wish.correlation_id,
        "status": "done" if steps and not steps[-1].rest else "under way",
        "what": wish.payload.what,
        "key": wish.payload.key,
        "questions": sum(len(step.questions) for step in steps),
        "erased": dict(sorted(erased.items())),
        "links": {"self": f"/api/v1/erasures/{wish.correlation_id}"},
    }


def _is_done(stored: StoredEvent) -> bool:
    event = next(iter(decodable_events([stored])), None)
    return event is not None and isinstance(event.payload, QuestionsForgotten) and not event.payload.rest
