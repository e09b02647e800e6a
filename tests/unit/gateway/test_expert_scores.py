"""What experts give each sentence and citation of an answer, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.facts import FeedbackGiven
from tests.unit.gateway.harness import CID, run, running_gateway
from tests.unit.gateway.test_authentication import CLIENT, EDITOR, KEYS, bearer

ADDRESS = f"/api/v1/questions/{CID}/feedback"
SCORED = {"rating": "down", "scores": {"sentences": [80], "citations": [25, 0]}}


async def test_an_expert_scores_every_sentence_and_citation() -> None:
    async with running_gateway(api_keys=KEYS) as here:
        await here.publish(*run("At eight."))

        reply = await here.http.post(ADDRESS, json=SCORED, headers=bearer(EDITOR))

        given = here.bus.only(CID, FeedbackGiven)
        assert reply.status_code == 202
        assert (given.by, given.sentence_scores, given.citation_scores) == ("ed", (80,), (25, 0))


async def test_a_client_gives_no_scores() -> None:
    async with running_gateway(api_keys=KEYS) as here:
        await here.publish(*run("At eight."))

        reply = await here.http.post(ADDRESS, json=SCORED, headers=bearer(CLIENT))

        assert reply.status_code == 403
        assert "editor" in reply.json()["detail"]
        assert "FeedbackGiven" not in here.bus.names(CID)


@pytest.mark.parametrize(
    "scores",
    [{"sentences": [50]}, {"citations": [100, 0]}, {"sentences": [80, 80]}, {"citations": [25]}, {"words": [1]}],
)
async def test_scores_that_fit_no_answer_are_refused(scores: dict[str, Any]) -> None:
    async with running_gateway() as here:
        await here.publish(*run("At eight."))

        reply = await here.http.post(ADDRESS, json={"rating": "up", "scores": scores})

        assert reply.status_code == 422
        assert "scores" in reply.json()["detail"]
