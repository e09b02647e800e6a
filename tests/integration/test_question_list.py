"""The list of running questions on a real server, with no other rights than a gateway's own."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.host.catalogue import stages
from cli.operations import bus
from cli.operations.operator_session import operator_session
from services.gateway.question_board import QuestionBoard
from services.gateway.stream import LiveFeed
from shared.bus.event_log import NatsEventLog
from shared.contracts.domain import Question
from shared.contracts.envelope import following
from shared.contracts.facts import QuestionApproved
from shared.history.question_lines import QuestionFilter
from shared.runtime.permissions import INJECTOR, OPERATOR
from shared.runtime.settings import Settings
from shared.stores.memory import MemoryPipelines
from tests.integration.rig import asked
from tests.support.servers import Server
from tests.support.speed import limit

pytestmark = pytest.mark.integration


async def test_what_was_asked_before_is_read_from_the_log_and_what_follows_comes_by_the_feed(
    server: Server, seeds: Path
) -> None:
    def login(user: str) -> Settings:
        return Settings(nats_url=server.url, nats_seed=SecretStr(str(seeds / f"{user}.nk")))

    async with bus.connected(login(OPERATOR)) as client:
        await bus.provision(client, login(OPERATOR), stages())
    async with (
        asyncio.timeout(limit(60)),
        operator_session(login(INJECTOR)) as injector,
        bus.connected(login("gateway"), "gateway", "gateway") as client,
    ):
        log = NatsEventLog(lambda: client)
        feed = LiveFeed(log)
        await feed.open()
        board = QuestionBoard(feed, log, MemoryPipelines())
        question = asked()
        await injector.facts.publish(question)
        seen: list[tuple[str, str]] = []
        async with aclosing(board.changes(QuestionFilter(), "", 10)) as changes:
            seen += [(line.id, line.stage) for line, _ in await anext(changes)]
            approved = QuestionApproved(question=Question(text="When?"))
            await injector.facts.publish(following("moderation", approved, question))
            while len(seen) < 2:
                seen += [(line.id, line.stage) for line, _ in await anext(changes)]
        await feed.close()

    assert seen == [(question.correlation_id, "moderation"), (question.correlation_id, "translation")]
