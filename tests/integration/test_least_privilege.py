"""The server itself refuses what a service does not declare: for every stage, from the declarations."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import SecretStr

from cli.host.catalogue import STAGES, stages
from cli.host.seeds import USERS_FILE
from cli.operations import bus
from cli.operations.credentials import issue
from shared.bus import Connection, Publisher
from shared.bus.credentials import connect_options, read_credentials
from shared.contracts import subjects
from shared.contracts.domain import Lane, PipelineRef
from shared.contracts.envelope import opening
from shared.contracts.errors import ConfigurationError, NotPermittedError
from shared.contracts.facts import FACTS, AnswerVerified, QuestionAsked
from shared.contracts.subjects import inbox
from shared.runtime.permissions import INJECTOR, OPERATOR, users
from shared.runtime.settings import Settings
from shared.runtime.worker import Worker
from tests.integration.rig import stage_of
from tests.support.servers import Server, nats_server

CID = "0" * 32
BUCKETS = (subjects.SESSIONS_BUCKET, subjects.ANSWERS_BUCKET, subjects.URLS_BUCKET, subjects.PIPELINES_BUCKET)
DECLARED = {stage.name: stage for stage in stages()}


@dataclass
class Town:
    """A server that knows every user, provisioned."""

    server: Server
    seeds: Path

    def settings(self, user: str) -> Settings:
        return Settings(nats_url=self.server.url, nats_seed=SecretStr(str(self.seeds / f"{user}.nk")))

    @asynccontextmanager
    async def client(self, user: str) -> AsyncIterator[tuple[Client, list[str]]]:
        """A connection of that user, and what the server refused it so far."""
        refused: list[str] = []

        async def heard(error: Exception) -> None:
            refused.extend(re.findall(r'violation for \w+ to "([^"]+)"', str(error)))

        settings = self.settings(user)
        client = await nats.connect(
            self.server.url, error_cb=heard, **connect_options(settings, read_credentials(settings))
        )
        try:
            yield client, refused
        finally:
            await client.close()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    issue(folder / "credentials", list(DECLARED.values()))
    with nats_server(folder, config=folder / "credentials" / USERS_FILE) as server:
        yield Town(server, folder / "credentials")


@pytest.fixture(autouse=True)
async def provisioned(town: Town) -> None:
    settings = town.settings(OPERATOR)
    async with bus.connected(settings) as client:
        await bus.provision(client, settings, list(DECLARED.values()))


async def tried(town: Town, user: str, publish: list[str], subscribe: list[str] | None = None) -> set[str]:
    """What the server refuses of it, in lower case as the client hands it on."""
    async with town.client(user) as (client, refused):
        for subject in subscribe or []:
            await client.subscribe(subject)
        for subject in publish:
            await client.publish(subject, b"{}")
        await client.flush()
        await client.flush()
        return set(refused)


@pytest.mark.parametrize("stage", STAGES)
async def test_a_service_cannot_say_a_fact_that_it_does_not_declare(town: Town, stage: str) -> None:
    others = [fact for fact in FACTS.values() if fact not in DECLARED[stage].published]
    forged = [subjects.event(fact, lane, CID, 0) for fact in others for lane in Lane]
    forged += [subjects.live(subject) for subject in forged]  # nor as if the server had republished it

    assert await tried(town, stage, forged) == set(forged)


@pytest.mark.parametrize("stage", STAGES)
async def test_a_service_cannot_reach_what_belongs_to_others(town: Town, stage: str) -> None:
    access = DECLARED[stage].access
    mine = {subscription.durable(lane) for subscription in DECLARED[stage].subscriptions for lane in Lane}
    others = {
        subscription.durable(lane) for one in DECLARED.values() for subscription in one.subscriptions for lane in Lane
    } - mine
    durable = min(others)
    forbidden = [
        *(f"$JS.API.STREAM.{verb}.QA" for verb in ("PURGE", "DELETE", "UPDATE")),
        *(f"$JS.API.CONSUMER.{verb}.QA.{durable}" for verb in ("DELETE", "INFO", "CREATE", "PAUSE")),
        subjects.pull(durable),
        f"$JS.ACK.QA.{durable}.1.1.1.1.1",
        *(f"$KV.{bucket}.x" for bucket in BUCKETS if bucket not in access.keeps),
        *(f"{inbox(other)}.x" for other in (*STAGES, OPERATOR) if other != stage),
        # Would send bytes of its choice to any reply subject, that of a fact too.
        *(f"$JS.API.DIRECT.GET.KV_{bucket}.x" for bucket in access.keeps),
        *(f"$JS.API.CONSUMER.CREATE.KV_{bucket}" for bucket in access.keeps),
        *(f"$JS.API.CONSUMER.CREATE.OBJ_{bucket}" for bucket in access.objects),
    ]
    heard = [*(f"{inbox(other)}.>" for other in (*STAGES, OPERATOR) if other != stage), "qa.>", ">", "$JS.>"]

    assert await tried(town, stage, forbidden, heard) == {one.lower() for one in (*forbidden, *heard)}


@pytest.mark.parametrize("stage", STAGES)
async def test_a_service_cannot_forge_by_a_reply_to_its_own_request(town: Town, stage: str) -> None:
    """It sends all that it may to itself, with reply subjects that it may not publish."""
    permitted = users(list(DECLARED.values()))[stage]
    own = {one.replace("*", CID).replace(">", CID) for one in permitted.publish if one.startswith(("ask.", "live."))}
    pipeline = f"$KV.{subjects.PIPELINES_BUCKET}.forged"
    foreign = next(fact for fact in FACTS.values() if fact.terminal and fact not in DECLARED[stage].published)
    ending = subjects.event(foreign, Lane.LIVE, CID, 0)
    purge = "$JS.API.STREAM.PURGE.QA"
    received: list[str] = []

    async with town.client(INJECTOR) as (injector, _):
        await injector.jetstream().publish(subjects.event(QuestionAsked, Lane.LIVE, CID, 1), b"kept")
    async with town.client(OPERATOR) as (operator, _), town.client(stage) as (client, _):
        before = await _messages(operator)

        async def reply(message: Msg) -> None:
            received.append(message.subject)
            await message.respond(b"{}")

        for subject in {subjects.ROLL_CALL, *permitted.subscribe}:
            await client.subscribe(subject, cb=reply)
        for subject in {subjects.ROLL_CALL, *own}:
            for target in (ending, pipeline, purge):
                await client.publish(subject, b"", reply=target)
        for _ in range(3):
            await client.flush()

        assert await _messages(operator) == before
    assert received == []


async def _messages(client: Client) -> list[tuple[int, int]]:
    """Messages and last sequence of the log and of the pipelines."""
    jetstream = client.jetstream()
    states = [(await jetstream.stream_info(name)).state for name in ("QA", f"KV_{subjects.PIPELINES_BUCKET}")]
    return [(state.messages, state.last_seq) for state in states]


async def test_the_operator_says_no_fact_and_the_injector_any(town: Town) -> None:
    every = [subjects.event(fact, lane, CID, 0) for fact in FACTS.values() for lane in Lane]

    assert await tried(town, OPERATOR, every) == set(every)
    assert await tried(town, INJECTOR, every) == set()


async def test_who_has_no_seed_is_not_let_in(town: Town) -> None:
    with pytest.raises(ConfigurationError, match="answerbus bus credentials"):
        async with bus.connected(Settings(nats_url=town.server.url)):
            pass


async def test_a_worker_with_a_seed_that_the_server_does_not_know_says_what_to_do(town: Town, tmp_path: Path) -> None:
    issue(tmp_path, list(DECLARED.values()))
    settings = town.settings("moderation").model_copy(update={"nats_seed": SecretStr(str(tmp_path / "moderation.nk"))})

    with pytest.raises(ConfigurationError, match=r"login of moderation.*answerbus bus credentials"):
        await Connection(settings, "test").open()


async def test_a_refused_fact_is_told_at_once_and_by_name(town: Town) -> None:
    connection = Connection(town.settings("moderation"), "test")
    await connection.open()
    publisher = Publisher(
        connection.broker, "moderation", budget=30, raw_ttl=60, permission_errors=connection.permission_errors
    )
    forged = opening("gateway", QuestionAsked(text="?"), pipeline=PipelineRef(name="x", revision=1), deadline_seconds=9)
    try:
        with pytest.raises(NotPermittedError, match=r"moderation is not permitted to publish qa.question.asked"):
            await publisher.publish(forged)
    finally:
        await connection.close()


async def test_a_worker_without_its_durables_permitted_is_told_which_it_may_not_use(town: Town) -> None:
    async def hears(verified: AnswerVerified) -> None:
        """A stage that came after the credentials were made."""

    worker = Worker(stage_of(hears, name="archive"), town.settings("answer"))
    try:
        with pytest.raises(ConfigurationError, match=r"answer is not permitted .*archive.*bus credentials"):
            await worker.start()
    finally:
        await worker.stop()
