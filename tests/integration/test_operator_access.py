"""A gateway's operator rights on a real server: with seeds and without, and when connections and keys are lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from cli.host.catalogue import stages
from cli.host.seeds import operator_rights
from cli.operations import bus
from cli.operations.credentials import issue
from shared.bus.ports import DeadLetterFilter
from shared.contracts.domain import Lane
from shared.contracts.errors import AnswerbusError, ConfigurationError
from shared.contracts.facts import QuestionApproved
from shared.contracts.pipelines import Pipeline
from shared.operations.stage_control import StageControl
from shared.runtime import operator_connections
from shared.runtime.operator_access import OperatorAccess, OperatorPorts
from shared.runtime.operator_connections import NatsOperatorAccess, operator_access
from shared.runtime.permissions import OPERATOR
from shared.runtime.settings import Settings
from tests.integration.rig import LOG_BYTES, asked
from tests.support.servers import Server, nats_server
from tests.support.speed import limit

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_connections, "RETRY_SECONDS", 0.1)


def settings(server: Server, seeds: Path, given: str = "") -> Settings:
    return Settings(
        nats_url=server.url, nats_seed=SecretStr(str(seeds / "gateway.nk")), operator_credentials=given or str(seeds)
    )


async def provision(server: Server, seeds: Path) -> None:
    of_operator = Settings(
        nats_url=server.url, nats_seed=SecretStr(str(seeds / f"{OPERATOR}.nk")), max_log_bytes=LOG_BYTES
    )
    async with bus.connected(of_operator) as client:
        await bus.provision(client, of_operator, stages())


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[OperatorAccess]:
    access = operator_access(settings)
    await access.open()
    try:
        yield access
    finally:
        await access.close()


async def ports_of(access: OperatorAccess) -> OperatorPorts:
    """The ports, once they can be used."""
    async with asyncio.timeout(limit(30)):
        while True:
            try:
                return access.ports()
            except AnswerbusError:
                await asyncio.sleep(0.02)


async def refusal_of(access: OperatorAccess, words: str) -> AnswerbusError:
    """The error with these words, once the ports are refused with it."""
    async with asyncio.timeout(limit(30)):
        while True:
            try:
                access.ports()
            except AnswerbusError as error:
                if words in str(error):
                    return error
            await asyncio.sleep(0.02)


async def test_with_the_seeds_of_both_users_everything_an_operator_changes_can_be_changed(
    server: Server, seeds: Path
) -> None:
    await provision(server, seeds)
    async with opened(settings(server, seeds)) as access:
        ports = await ports_of(access)
        question = asked()
        await ports.facts.publish(question)
        await ports.facts.publish_again(question, "again/1")
        stored = await ports.log.history(question.correlation_id)
        ref, new = await ports.pipelines.apply(Pipeline(name="default"))
        candidate = await ports.pipelines.propose(Pipeline(name="default", description="tried"))
        paused = await StageControl(ports.durables).pause("moderation", [Lane.LIVE], 60)
        letters = await ports.dead.page(DeadLetterFilter())

    assert [one.correlation_id for one in stored] == [question.correlation_id]
    assert (ref.name, new, candidate.name.startswith("candidate/")) == ("default", True, True)
    assert paused
    assert all(one.paused_seconds for one in paused)
    assert letters == []


async def test_facts_of_stages_go_over_the_injectors_connection_only(server: Server, seeds: Path) -> None:
    await provision(server, seeds)
    async with opened(settings(server, seeds)) as access:
        await ports_of(access)
        assert isinstance(access, NatsOperatorAccess)
        session = access._session
        assert session
        users = [one.permission_errors.user for one in session.connections]

    assert users == ["operator", "injector"]
    assert QuestionApproved.__name__ not in users


async def test_a_folder_without_the_seeds_is_told_and_not_waited_for(
    server: Server, seeds: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    async with opened(settings(server, seeds, str(tmp_path / "empty"))) as access:
        error = await refusal_of(access, "ANSWERBUS_OPERATOR_CREDENTIALS, user operator")

    assert isinstance(error, ConfigurationError)


async def test_seeds_that_the_server_does_not_know_are_told(server: Server, seeds: Path, tmp_path: Path) -> None:
    issue(tmp_path / "others", stages())
    async with opened(settings(server, seeds, str(tmp_path / "others"))) as access:
        await refusal_of(access, "rejects the login of operator")


async def test_the_rights_come_back_with_the_server(server: Server, seeds: Path) -> None:
    await provision(server, seeds)
    async with opened(settings(server, seeds)) as access:
        await ports_of(access)
        server.kill()
        await refusal_of(access, "NATS is unavailable")
        server.start()
        ports = await ports_of(access)
        async with asyncio.timeout(limit(30)):
            await ports.durables.all()


async def test_replaced_keys_are_read_again_without_a_restart(server: Server, seeds: Path) -> None:
    await provision(server, seeds)
    async with opened(settings(server, seeds)) as access:
        first = await ports_of(access)
        issue(seeds, stages(), rotate=["operator", "injector"], finish=True)
        server.kill()
        server.start()
        async with asyncio.timeout(limit(30)):
            while (again := await ports_of(access)) is first:  # noqa: ASYNC110 (nothing is awaited that tells)
                await asyncio.sleep(0.02)
        assert await again.durables.all()


async def test_on_a_server_without_users_the_gateways_own_login_serves(tmp_path: Path) -> None:
    with nats_server(tmp_path) as plain:
        own = Settings(nats_url=plain.url, operator_credentials="own", max_log_bytes=LOG_BYTES)
        async with bus.connected(own) as client:
            await bus.provision(client, own, stages())
        async with opened(own) as access:
            ports = await ports_of(access)
            await ports.facts.publish(asked())
            assert await ports.durables.all()


def test_up_gives_its_gateway_the_seeds_that_it_has_itself_unless_told_otherwise(seeds: Path) -> None:
    folder, one = SecretStr(str(seeds)), SecretStr(str(seeds / "operator.nk"))

    assert operator_rights(Settings(nats_seed=folder)) == str(seeds)
    assert operator_rights(Settings(nats_seed=folder, operator_credentials="off")) == "off"
    assert operator_rights(Settings(nats_seed=one)) == ""
    assert operator_rights(Settings(nats_user="gateway")) == ""
    assert operator_rights(Settings()) == "own"
