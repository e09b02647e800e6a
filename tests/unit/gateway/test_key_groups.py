"""The groups of an API key go with its questions, over every protocol; a question without keys has those of `local`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.gateway.harness import RunningGateway, running_gateway

KEY, OTHER, SHOP = "web-key-0123456789", "web-key-9876543210", "shop-key-0123456789"
SETTINGS: dict[str, Any] = {
    "api_keys": f"web:client:{KEY},web:client:{OTHER},shop:client:{SHOP}",
    "key_groups": "web:staff,web:board,gone:crew",
}


async def groups_of(here: RunningGateway, path: str, body: dict[str, Any], key: str = "") -> set[tuple[str, ...]]:
    """The groups on the events of what is asked."""
    before = len(here.bus.log.stored)
    await here.http.post(path, json=body, headers={"X-API-Key": key} if key else {})
    return {one.decode().groups for one in here.bus.log.stored[before:]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/questions", {"question": "Who?"}),
        ("/v1/responses", {"model": "answerbus", "input": "Who?", "background": True}),
    ],
)
async def test_question_has_the_groups_of_its_key(path: str, body: dict[str, Any]) -> None:
    async with running_gateway(**SETTINGS) as here:
        for key in (KEY, OTHER):
            assert await groups_of(here, path, body, key) == {("board", "staff")}
        assert await groups_of(here, path, body, SHOP) == {()}


async def test_question_of_a_gateway_without_keys_has_the_groups_of_local() -> None:
    for settings, groups in (({"key_groups": "local:staff"}, ("staff",)), ({}, ())):
        async with running_gateway(**settings) as here:
            assert await groups_of(here, "/api/v1/questions", {"question": "Who?"}) == {groups}
