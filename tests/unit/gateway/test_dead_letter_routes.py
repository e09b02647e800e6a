"""Dead letters over HTTP: listed for operators, their texts hidden."""

from __future__ import annotations

from shared.bus.retry_policy import RetryPolicy
from shared.contracts.errors import PermanentError
from shared.contracts.facts import QuestionApproved
from shared.contracts.stage import Stage
from tests.unit.gateway.harness import CID, QUESTION, RunningGateway, asked, running_gateway, then

CLIENT = "client-key-0123456789"


async def bury(here: RunningGateway, stage: str, kind: str) -> None:
    event = then(asked(), QuestionApproved(question=QUESTION), "moderation")
    failures = RetryPolicy(Stage(stage), here.bus.log, 8, "default")  # type: ignore[arg-type]
    await failures.move_to_dead_letters(event.subject, event.encode(), event, PermanentError("no rule", kind=kind))


async def test_dead_letters_are_listed_by_page_and_filter() -> None:
    async with running_gateway() as here:
        for stage, kind in (("translation", "rules"), ("retrieval", "expired"), ("translation", "expired")):
            await bury(here, stage, kind)

        first = (await here.http.get("/api/v1/dead", params={"limit": 2})).json()
        rest = (await here.http.get("/api/v1/dead", params={"after": first["after"]})).json()
        some = (await here.http.get("/api/v1/dead", params={"stage": "translation", "kind": "expired"})).json()

    assert [one["number"] for one in first["letters"]] == [1, 2]
    assert ([one["number"] for one in rest["letters"]], rest["after"]) == ([3], 0)
    assert [one["number"] for one in some["letters"]] == [3]
    assert first["letters"][0]["id"] == CID


async def test_one_dead_letter_hides_its_texts_unless_they_are_asked_for() -> None:
    async with running_gateway() as here:
        await bury(here, "translation", "rules")

        hidden = await here.http.get("/api/v1/dead/1")
        full = await here.http.get("/api/v1/dead/1", params={"full": "true"})
        missing = await here.http.get("/api/v1/dead/2")

    assert QUESTION.text not in hidden.text
    assert full.json()["payload"]["question"]["text"] == QUESTION.text
    assert (missing.status_code, missing.json()["status"]) == (404, 404)


async def test_dead_letters_are_for_operators() -> None:
    async with running_gateway(api_keys=f"web:client:{CLIENT}") as here:
        reply = await here.http.get("/api/v1/dead", headers={"X-API-Key": CLIENT})

    assert reply.status_code == 403
