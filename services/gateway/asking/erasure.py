"""Erasing a question, a conversation or an asker: requested as a fact, so that it survives restarts of any worker."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from services.gateway.streaming.stream import LiveFeed, WaitInterruptedError
from shared.bus.ports import EventLog, FactPublisher, StoredEvent, decodable_events
from shared.contracts.envelope import Event, new_correlation_id, opening
from shared.contracts.errors import ConfigurationError, NotFoundError
from shared.contracts.facts import ErasureRequested, Fact, Forgettable, QuestionsForgotten
from shared.contracts.pipelines import PipelineSource
from shared.contracts.tenants import is_of_tenant
from shared.runtime.settings import Settings

#: Seconds; formal, as facts out of band are retried until they succeed.
DEADLINE = 3600.0


class ErasureService:
    """Requests erasures and reports on them."""

    def __init__(
        self, settings: Settings, pipelines: PipelineSource, facts: FactPublisher, event_log: EventLog, feed: LiveFeed
    ) -> None:
        self._settings = settings
        self._pipelines = pipelines
        self._facts = facts
        self._log = event_log
        self._feed = feed

    async def erase(self, what: Forgettable, key: str, tenant: str, timeout: float) -> dict[str, Any]:
        """Request the erasure in a tenant and wait up to `timeout` seconds until it is done; returns the report.

        Raises:
            ConfigurationError: the tenant's default pipeline does not exist.
            UnavailableError: NATS did not store the request.
        """
        cid = new_correlation_id()
        name = self._settings.pipeline_of(tenant)
        pipeline = self._pipelines.current(name)
        if pipeline is None:
            raise ConfigurationError(f"default_pipeline: there is no {name!r}; load it")
        requested = opening(
            "gateway",
            ErasureRequested(what=what, key=key),
            pipeline=pipeline,
            deadline_seconds=DEADLINE,
            correlation_id=cid,
            tenant=tenant,
        )
        queue = self._feed.watch(cid)
        try:
            await self._facts.publish(requested)
            with contextlib.suppress(WaitInterruptedError):  # then it is reported as under way
                await self._feed.wait_for(_is_done, cid, queue, timeout, link=_link(cid))
        finally:
            self._feed.forget(cid, queue)
        return await self.report(cid, tenant)

    async def report(self, correlation_id: str, tenant: str) -> dict[str, Any]:
        """The state of an erasure.

        Raises:
            NotFoundError: the log has no such erasure in this tenant (empty: in any).
        """
        events = decodable_events(await self._log.history(correlation_id))
        report = erasure_report([event for event in events if is_of_tenant(event.tenant, tenant)])
        if report is None:
            raise NotFoundError(f"no erasure {correlation_id} in the log; send the id that a DELETE returned")
        return report


def erasure_report(events: Sequence[Event[Fact]]) -> dict[str, Any] | None:
    """The state of an erasure, counted from its facts; None where it was never requested."""
    requested = next((event for event in events if isinstance(event.payload, ErasureRequested)), None)
    if requested is None:
        return None
    assert isinstance(requested.payload, ErasureRequested)
    steps = [event.payload for event in events if isinstance(event.payload, QuestionsForgotten)]
    erased: Counter[str] = Counter()
    for step in steps:
        erased.update(step.erased)
    return {
        "id": requested.correlation_id,
        "status": "done" if steps and not steps[-1].rest else "under way",
        "what": requested.payload.what,
        "key": requested.payload.key,
        "questions": sum(len(step.questions) for step in steps),
        "erased": dict(sorted(erased.items())),
        "links": {"self": _link(requested.correlation_id)},
    }


def _link(correlation_id: str) -> str:
    return f"/api/v1/erasures/{correlation_id}"


def _is_done(stored: StoredEvent) -> bool:
    event = next(iter(decodable_events([stored])), None)
    return event is not None and isinstance(event.payload, QuestionsForgotten) and not event.payload.rest
