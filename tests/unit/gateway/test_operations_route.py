"""What a gateway says that it may change, with and without an operator's rights."""

from __future__ import annotations

import pytest

from services.gateway.http.problems import headers_of, members_of, status_of_error
from services.gateway.operators.operations import ACTIONS, OperatorUnavailableError
from shared.bus.ports import DeadLetterFilter
from shared.contracts.errors import NotOfferedError
from shared.contracts.tenants import TENANT_HEADER
from tests.unit.gateway.harness import running_gateway

SETTING = "ANSWERBUS_OPERATOR_CREDENTIALS"
KEYS = "one:operator:one-key-0123456789a,all:operator:all-key-0123456789a,web:client:web-key-0123456789a"
TENANTS = {"tenant": "town", "tenants": "acme", "key_tenants": "one:acme,all:*"}


def key(name: str) -> dict[str, str]:
    return {"X-API-Key": f"{name}-key-0123456789a"}


@pytest.mark.parametrize("value", ["", "off"])
async def test_a_gateway_without_the_setting_names_it_and_changes_nothing(value: str) -> None:
    async with running_gateway(operator_credentials=value) as here:
        told = (await here.http.get("/api/v1/operations")).json()
        with pytest.raises(NotOfferedError) as raised:
            here.gateway.operations.stage_control  # noqa: B018 (a property that raises)

    assert told["setting"] == SETTING
    assert set(told["actions"]) >= set(ACTIONS)
    assert all(SETTING in told["actions"][one]["reason"] for one in ACTIONS)
    assert not any(told["actions"][one]["allowed"] for one in ACTIONS)
    assert (status_of_error(raised.value), members_of(raised.value)) == (501, {"setting": SETTING})


async def test_a_gateway_with_an_operators_rights_says_so_and_has_the_tools() -> None:
    async with running_gateway(operator_credentials="own") as here:
        told = (await here.http.get("/api/v1/operations")).json()
        tools = here.gateway.operations
        assert tools.pipelines.names() == ["default"]
        assert await tools.dead_letters.letters.page(DeadLetterFilter()) == []
        assert await tools.replayer() is await tools.replayer()
        assert await tools.stage_control._durables.all() == []

    assert all(told["actions"][name] == {"allowed": True, "reason": ""} for name in ACTIONS if name != "scale")
    assert "has started no workers" in told["actions"]["scale"]["reason"]


async def test_without_the_bus_it_is_unavailable_and_not_forbidden() -> None:
    async with running_gateway(operator_credentials="own") as here:
        here.bus.log.unavailable = True
        told = (await here.http.get("/api/v1/operations")).json()
        with pytest.raises(OperatorUnavailableError) as raised:
            here.gateway.operations.ports()

    assert told["actions"]["replay"] == {"allowed": False, "reason": "NATS is unavailable"}
    assert (status_of_error(raised.value), members_of(raised.value)) == (503, {"setting": SETTING})
    assert headers_of(raised.value)["Retry-After"] == "5"


async def test_stages_are_for_operators_of_all_tenants() -> None:
    async with running_gateway(operator_credentials="own", api_keys=KEYS, **TENANTS) as here:
        one, all_of_one, everything, client = [
            await here.http.get("/api/v1/operations", headers=headers)
            for headers in (key("one"), key("all") | {TENANT_HEADER: "acme"}, key("all"), key("web"))
        ]

    assert [reply.json()["actions"]["stages"]["allowed"] for reply in (one, all_of_one, everything)] == [
        False,
        False,
        True,
    ]
    assert "all tenants" in one.json()["actions"]["stages"]["reason"]
    assert one.json()["actions"]["dead_letters"]["allowed"]
    assert client.status_code == 403
