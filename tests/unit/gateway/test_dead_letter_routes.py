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


async def test_what_changes_dead_letters_names_the_setting_that_it_needs() -> None:
    async with running_gateway() as here:
        await bury(here, "translation", "rules")
        replies = [
            await here.http.post("/api/v1/dead/1/edit", json={"payload": {}}),
            await here.http.post("/api/v1/dead/1/retry", json={}),
            await here.http.delete("/api/v1/dead/1"),
            await here.http.post("/api/v1/dead/retry", json={"numbers": [1]}),
            await here.http.post("/api/v1/dead/drop", json={"numbers": [1]}),
        ]
        left = (await here.http.get("/api/v1/dead")).json()["letters"]

    for reply in replies:
        problem = reply.json()
        assert (reply.status_code, problem["setting"]) == (501, "ANSWERBUS_OPERATOR_CREDENTIALS")
        assert problem["setting"] in problem["detail"]
    assert len(left) == 1


async def test_a_payload_that_does_not_fit_is_refused_at_its_fields() -> None:
    async with running_gateway(operator_credentials="own") as here:
        await bury(here, "translation", "rules")
        wrong = await here.http.post("/api/v1/dead/1/edit", json={"payload": {"question": {"text": 3}, "findings": 1}})
        unknown = await here.http.post(
            "/api/v1/dead/1/edit", json={"payload": {"question": {"text": "When?", "colour": "red"}}}
        )
        good = await here.http.post("/api/v1/dead/1/edit", json={"payload": {"question": {"text": "Why?"}}})
        again = await here.http.post("/api/v1/dead/1/edit", json={"payload": {"question": {"text": "Why?"}}})
        edited = (await here.http.get("/api/v1/dead/2", params={"full": "true"})).json()

    assert {one["at"] for one in wrong.json()["errors"]} == {"question.text", "findings"}
    assert (wrong.status_code, unknown.status_code, again.status_code) == (422, 422, 404)
    assert "question.colour: no such field" in unknown.json()["detail"]
    assert good.json() == {"number": 2, "before": 1}
    assert (edited["edited"], edited["payload"]["question"]["text"]) == (True, "Why?")


async def test_several_are_retried_and_dropped_and_those_that_cannot_be_are_told() -> None:
    async with running_gateway(operator_credentials="own") as here:
        for stage in ("translation", "translation", "answer", "translation"):
            await bury(here, stage, "rules")
        retried = (await here.http.post("/api/v1/dead/retry", json={"numbers": [1, 3, 9], "lane": "background"})).json()
        dropped = (await here.http.post("/api/v1/dead/drop", json={"numbers": [2, 2, 9]})).json()
        one = (await here.http.post("/api/v1/dead/4/retry", json={"deadline_seconds": 5})).json()
        left = (await here.http.get("/api/v1/dead")).json()["letters"]
        gone = await here.http.delete("/api/v1/dead/3")

    (done,) = retried["done"]
    assert (done["number"], done["fact"], done["parent"], done["lane"]) == (1, "QuestionApproved", CID, "background")
    assert [failed["number"] for failed in retried["failed"]] == [3, 9]
    assert "no longer consumes" in retried["failed"][0]["reason"]
    assert [each["number"] for each in dropped["done"]] == [2]
    assert [each["number"] for each in dropped["failed"]] == [9]
    assert (one["number"], one["lane"], one["parent"]) == (4, "live", CID)
    assert [each["number"] for each in left] == [3]
    assert gone.json() == {"number": 3, "fact": "QuestionApproved", "id": CID}


async def test_an_operator_of_one_tenant_changes_no_letter_of_another() -> None:
    keys = "far:operator:far-key-0123456789,boss:operator:boss-key-0123456789"
    tenants = {"tenants": "acme", "key_tenants": "far:acme,boss:*"}
    async with running_gateway(operator_credentials="own", api_keys=keys, **tenants) as here:
        await bury(here, "translation", "rules")
        far = {"headers": {"X-API-Key": "far-key-0123456789"}}
        refused = [
            await here.http.post("/api/v1/dead/1/edit", json={"payload": {"question": {"text": "Why?"}}}, **far),
            await here.http.post("/api/v1/dead/1/retry", json={}, **far),
            await here.http.delete("/api/v1/dead/1", **far),
        ]
        several = await here.http.post("/api/v1/dead/drop", json={"numbers": [1]}, **far)
        own = await here.http.delete("/api/v1/dead/1", headers={"X-API-Key": "boss-key-0123456789"})

    assert [reply.status_code for reply in refused] == [404, 404, 404]
    assert [each["number"] for each in several.json()["failed"]] == [1]
    assert own.status_code == 200


async def test_dead_letters_are_for_operators() -> None:
    async with running_gateway(api_keys=f"web:client:{CLIENT}") as here:
        reply = await here.http.get("/api/v1/dead", headers={"X-API-Key": CLIENT})

    assert reply.status_code == 403
