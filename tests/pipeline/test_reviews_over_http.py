"""Experts compare answers over HTTP: nothing that they are sent tells which is the candidate's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from shared.runtime.settings import Settings
from shared.runtime.testing import MemoryBus
from tests.support.judged import GOOD, Script, platform, record_of, result_of, tags

CLIENT, ANN, BOB, OPERATOR = (f"{name}-key-0123456789" for name in ("client", "ann", "bob", "operator"))
KEYS = f"app:client:{CLIENT},ann:editor:{ANN},bob:editor:{BOB},ops:operator:{OPERATOR}"
WORSE = "Ask the town hall. [1]"
PAIRS = 12


def by(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def recorded(bus: MemoryBus, client: httpx.AsyncClient, count: int) -> list[dict[str, Any]]:
    """The exchanges of so many questions."""
    found = []
    for number in range(count):
        asked = await result_of(client, f"What is the rent of a garden plot for person {number}?")
        found.append((await record_of(bus, asked["id"])).model_dump(mode="json"))
    return found


async def sent(client: httpx.AsyncClient, live: list[dict[str, Any]], shadows: list[dict[str, Any]]) -> str:
    pairs = [{"live": a["id"], "shadow": b["id"]} for a, b in zip(live, shadows, strict=True)]
    body = {"name": "longer-answers", "title": "March", "live": "default@1", "candidate": "longer@7", "pairs": pairs}
    reply = await client.post("/api/v1/reviews", json=body, headers=by(OPERATOR))
    assert reply.status_code == 201, reply.text
    assert reply.json()["pairs"] == len(pairs)
    return str(reply.json()["id"])


async def tasks(client: httpx.AsyncClient, review: str, key: str) -> list[tuple[dict[str, Any], httpx.Response]]:
    """All that an expert is sent while they judge every pair."""
    found = []
    while True:
        reply = await client.get(f"/api/v1/reviews/{review}/next", headers=by(key))
        task = reply.raise_for_status().json()
        if task["pair"] is None:
            return found
        found.append((task, reply))
        better = "a" if "forty euros" in task["pair"]["a"] else "b"
        path = f"/api/v1/reviews/{review}/pairs/{task['pair']['number']}"
        judged = await client.put(path, json={"choice": better}, headers=by(key))
        assert (judged.status_code, judged.content) == (204, b"")


async def test_nothing_that_an_expert_is_sent_tells_which_answer_is_the_candidates(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0, api_keys=KEYS)
    answers = [tags(GOOD)] * PAIRS + [tags(WORSE)] * PAIRS
    sections: dict[str, Any] = {"gateway": {"cache": "off"}}
    async with platform(tmp_path, Script(list(answers)), settings=settings, **sections) as (bus, client):
        client.headers.update(by(CLIENT))
        live, shadows = await recorded(bus, client, PAIRS), await recorded(bus, client, PAIRS)
        review = await sent(client, live, shadows)
        shown = {key: await tasks(client, review, key) for key in (ANN, BOB)}
        listed = await client.get("/api/v1/reviews", headers=by(ANN))
        result = (await client.get(f"/api/v1/reviews/{review}", headers=by(OPERATOR))).json()
        hidden = await client.get(f"/api/v1/reviews/{review}", headers=by(ANN))

    for key, found in shown.items():
        assert len(found) == PAIRS, key
        for number, (task, reply) in enumerate(found, 1):
            # Exactly these fields, and besides the two answers none that depends on which is which.
            assert task["review"] == {
                "id": review,
                "title": "March",
                "at": task["review"]["at"],
                "total": PAIRS,
                "done": number - 1,
            }
            assert set(task["pair"]) == {"number", "question", "language", "a", "b"}
            assert task["pair"]["number"] == number
            texts = {task["pair"]["a"], task["pair"]["b"]}
            assert texts == {live[number - 1]["answer_text"], shadows[number - 1]["answer_text"]}
            rest = json.dumps({**task, "pair": {**task["pair"], "a": "", "b": ""}}) + str(reply.headers)
            told = [one["id"] for one in (*live, *shadows)] + ["longer", "default", "candidate", "live", "shadow"]
            assert not [word for word in told if word in rest]
    orders = {key: ["forty" in task["pair"]["a"] for task, _ in found] for key, found in shown.items()}
    # Either answer stands first now and then: one of eight million runs would fail by chance.
    assert {one for order in orders.values() for one in order} == {True, False}
    assert "longer" not in listed.text
    assert hidden.status_code == 403
    assert (result["together"]["live"], result["together"]["candidate"]) == (PAIRS, 0)
    assert [(one["expert"], one["live"]) for one in result["experts"]] == [("ann", PAIRS), ("bob", PAIRS)]


async def test_private_data_in_a_comment_is_masked_and_an_erased_question_takes_it_along(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0, api_keys=KEYS)
    sections: dict[str, Any] = {"gateway": {"cache": "off"}}
    async with platform(tmp_path, Script([tags(GOOD), tags(WORSE)]), settings=settings, **sections) as (bus, client):
        client.headers.update(by(CLIENT))
        live, shadows = await recorded(bus, client, 1), await recorded(bus, client, 1)
        review = await sent(client, live, shadows)
        body = {"choice": "bad", "comment": "Ask zoe@example.org instead."}
        path = f"/api/v1/reviews/{review}"
        assert (await client.put(f"{path}/pairs/1", json=body, headers=by(ANN))).status_code == 204
        before = (await client.get(path, headers=by(OPERATOR))).json()
        erased = await client.delete(f"/api/v1/exchanges/{live[0]['id']}", headers=by(OPERATOR))
        assert erased.status_code == 200, erased.text
        after = (await client.get(path, headers=by(OPERATOR))).json()
        refused = await client.put(f"{path}/pairs/1", json=body, headers=by(ANN))
        removed = await client.delete(path, headers=by(OPERATOR))
        again = await client.delete(path, headers=by(OPERATOR))

    assert before["together"]["bad"] == 1
    (comment,) = before["comments"]
    assert comment["comment"].startswith("Ask ")
    assert "zoe@example.org" not in comment["comment"]
    assert (after["pairs"], after["together"]["pairs"], after["comments"]) == (0, 0, [])
    assert refused.status_code == 404
    assert (removed.status_code, again.status_code) == (204, 404)
