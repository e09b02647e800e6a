"""Forgetting over HTTP: who may, what is said, and the report of it."""

from __future__ import annotations

import pytest

from shared.contracts.envelope import following
from shared.contracts.facts import ErasureRequested, QuestionsForgotten
from shared.contracts.pseudonyms import asker_id, key_id
from tests.unit.gateway.harness import CID, RunningGateway, running_gateway
from tests.unit.gateway.test_authentication import CLIENT, EDITOR, KEYS, bearer

ADDRESSES = ("/api/v1/conversations/c-1", f"/api/v1/exchanges/{CID}", "/api/v1/askers/web")


def wish(here: RunningGateway) -> ErasureRequested:
    """What was said last."""
    payload = here.bus.log.stored[-1].decode().payload
    assert isinstance(payload, ErasureRequested)
    return payload


async def test_the_report_counts_every_step_and_says_when_it_is_done() -> None:
    async with running_gateway() as here:
        asked = (await here.http.delete("/api/v1/conversations/c-1", params={"wait": 0})).json()
        published = here.bus.log.stored[-1].decode()
        step = QuestionsForgotten(
            what="conversation", key="c-1", questions=(CID,), erased={"events": 8, "exchanges": 1}, rest=True
        )
        first = following("persistence", step, published)
        await here.publish(first)
        under_way = (await here.http.get(asked["links"]["self"])).json()
        await here.publish(following("persistence", step.model_copy(update={"rest": False}), first))
        done = (await here.http.get(asked["links"]["self"])).json()

        assert (asked["status"], under_way["status"], done["status"]) == ("under way", "under way", "done")
        assert (done["questions"], done["erased"]) == (2, {"events": 16, "exchanges": 2})


async def test_an_erasure_under_way_is_accepted_and_one_nobody_knows_is_not_found() -> None:
    async with running_gateway() as here:
        assert (await here.http.delete("/api/v1/conversations/c-1", params={"wait": 0})).status_code == 202
        assert (await here.http.get(f"/api/v1/erasures/{CID}")).status_code == 404


@pytest.mark.parametrize(
    ("address", "what", "key"),
    [
        ("/api/v1/conversations/c-1", "conversation", "c-1"),
        (f"/api/v1/exchanges/{CID}", "question", CID),
        ("/api/v1/askers/web", "asker", key_id("default", "web")),
        ("/api/v1/askers/web?user=ann", "asker", asker_id("default", "web", "ann")),
    ],
)
async def test_what_is_to_be_forgotten_is_said_without_names(address: str, what: str, key: str) -> None:
    async with running_gateway() as here:
        await here.http.delete(address, params={"wait": 0} if "?" not in address else {"wait": 0, "user": "ann"})

        assert wish(here) == ErasureRequested(what=what, key=key)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [CLIENT, EDITOR])
async def test_only_operators_forget(key: str) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        for address in ADDRESSES:
            assert (await here.http.delete(address, headers=bearer(key))).status_code == 403
        assert here.bus.log.stored == []


async def test_a_question_bears_the_pseudonym_of_its_asker() -> None:
    async with running_gateway() as here:
        body = {"question": "When?", "client": {"user": "ann"}}
        await here.http.post("/api/v1/questions", json=body)

        event = here.bus.log.stored[-1].decode()
        assert event.asker == asker_id("default", "local", "ann")
        assert event.asker.startswith(key_id("default", "local"))
