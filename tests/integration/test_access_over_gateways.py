"""Two gateways on one NATS, called over HTTP: limits, sessions and tokens are the same at both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from typing import Any

import httpx
import pytest

from services.gateway import app
from services.gateway.server.http_server import HttpServer
from shared.contracts.pipelines import Pipeline
from shared.stores.pipelines_nats import NatsPipelines
from tests.integration.rig import Rig, until
from tests.support.issuer import issuer_server

pytestmark = pytest.mark.integration
KEYS = "web:client:client-key-0123456789,shop:client:shop-key-0123456789"
WEB, SHOP = {"X-API-Key": "client-key-0123456789"}, {"X-API-Key": "shop-key-0123456789"}
ASK = {"question": "When does the harbour office open?"}
QUESTIONS = "/api/v1/questions"


@asynccontextmanager
async def gateways(rig: Rig, number: int = 2, **settings: Any) -> AsyncIterator[list[httpx.AsyncClient]]:
    """A client of each gateway; no other stage runs, so questions stay unanswered."""
    await rig.provision()
    pipelines = NatsPipelines(rig.client.jetstream)
    await pipelines.open()
    await pipelines.apply(Pipeline(name="default"))
    await pipelines.close()
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(number):
            worker = await stack.enter_async_context(rig.worker(app.build, port=0, api_keys=KEYS, **settings))
            (server,) = (port for port in worker.stage.ports if isinstance(port, HttpServer))
            http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=30)
            clients.append(await stack.enter_async_context(http))
        yield clients


async def statuses(clients: list[httpx.AsyncClient], number: int, headers: dict[str, str]) -> list[int]:
    """Ask so many questions, in turn at each gateway."""
    asked = (clients[at % len(clients)].post(QUESTIONS, json=ASK, headers=headers) for at in range(number))
    return [reply.status_code for reply in await asyncio.gather(*asked)]


async def test_a_key_gets_its_requests_a_minute_at_all_gateways_together(rig: Rig) -> None:
    async with gateways(rig, rate_key_per_minute=30) as clients:
        began = time.monotonic()
        got = await statuses(clients, 90, WEB)
        refilled = (time.monotonic() - began) / 2

        assert set(got) == {202, 429}
        assert 30 <= got.count(202) <= 30 + refilled + 1
        assert await statuses(clients, 4, SHOP) == [202] * 4


async def test_a_question_that_ends_at_one_gateway_makes_room_at_the_other(rig: Rig) -> None:
    async with gateways(rig, rate_key_in_flight=3) as (one, other):
        asked = [await one.post(QUESTIONS, json=ASK, headers=WEB) for _ in range(3)]
        assert (await other.post(QUESTIONS, json=ASK, headers=WEB)).status_code == 429
        await other.delete(f"{QUESTIONS}/{asked[0].json()['id']}", headers=WEB)

        async def room() -> bool:
            return (await other.post(QUESTIONS, json=ASK, headers=WEB)).status_code == 202

        await until(room, "another question may be asked")
        assert await statuses([one, other], 4, WEB) == [429] * 4


async def test_a_session_of_one_gateway_is_one_of_the_other(rig: Rig) -> None:
    async with gateways(rig, anonymous_session_seconds=60, anonymous_sessions_per_minute=4) as (one, other):
        started = (await one.post("/api/v1/sessions")).json()
        visitor = {"Authorization": f"Bearer {started['token']}"}
        asked = await other.post(QUESTIONS, json=ASK, headers=visitor)
        assert asked.json()["conversation_id"] == started["conversation_id"]
        assert (await one.get(f"{QUESTIONS}/{asked.json()['id']}", headers=visitor)).status_code == 200
        assert (await one.get(f"{QUESTIONS}/{asked.json()['id']}/events", headers=WEB)).status_code == 404

        more = [(await (one, other)[at % 2].post("/api/v1/sessions")).status_code for at in range(6)]
        assert more.count(201) == 3


async def test_a_question_asked_with_a_token_is_read_with_it_at_any_gateway(rig: Rig) -> None:
    with issuer_server() as issuer:
        async with gateways(rig, **issuer.settings) as (one, other):
            zoe, yan = ({"Authorization": f"Bearer {issuer.token(sub=user)}"} for user in ("zoe", "yan"))
            path = f"{QUESTIONS}/{(await one.post(QUESTIONS, json=ASK, headers=zoe)).json()['id']}"
            assert (await other.get(path, headers=zoe)).status_code == 200
            assert (await other.get(f"{path}/events", headers=yan)).status_code == 404


async def test_limits_and_tokens_add_little_to_a_question(rig: Rig) -> None:
    """About 2 ms on a quiet machine, and here with room for a busy one; the questions alternate."""
    limits = dict.fromkeys(("rate_key_per_minute", "rate_user_per_minute"), 100_000)
    flights = dict.fromkeys(("rate_key_in_flight", "rate_user_in_flight"), 1000)
    body = {**ASK, "client": {"user": "zoe"}}
    with issuer_server() as issuer:
        async with (
            gateways(rig, 1, admission_seconds=0) as (plain,),
            gateways(rig, 1, admission_seconds=0, **limits, **issuer.settings) as (limited,),
            gateways(rig, 1, admission_seconds=0, **limits, **flights) as (counted,),
        ):
            token = {"Authorization": f"Bearer {issuer.token()}"}
            kinds = {
                "plain": (plain, WEB),
                "limited": (limited, WEB),
                "token": (limited, token),
                "counted": (counted, WEB),
            }
            times: dict[str, list[float]] = {name: [] for name in kinds}
            for _ in range(60):
                for name, (http, headers) in kinds.items():
                    began = time.perf_counter()
                    assert (await http.post(QUESTIONS, json=body, headers=headers)).status_code == 202
                    times[name].append((time.perf_counter() - began) * 1e3)

    middle = {name: round(median(one), 2) for name, one in times.items()}
    print(f"p50 ms: {middle}")
    assert max(middle.values()) - middle["plain"] < 30
