"""`answerbus up --pipeline government` from the repository, with the scripted model and with none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.government.harness import EI, EI_PAGE, EI_SENTENCE, FOLDER, SEARCH_EN, GovernmentModel
from tests.support.model_server import ModelServer
from tests.support.platform import cli, running
from tests.support.speed import limit

pytestmark = pytest.mark.e2e
PAGES = FOLDER / "demo" / "pages"


def _ask(url: str, question: str) -> dict[str, Any]:
    with httpx.Client(base_url=url, timeout=limit(60), trust_env=False) as client:
        reply = client.post("/api/v1/query", json={"question": question})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    assert body["pipeline"]["name"] == "government"
    return body


def test_up_with_this_pipeline_answers_with_a_model_and_links_the_search_for_two_words(tmp_path: Path) -> None:
    with ModelServer(GovernmentModel()) as server:
        endpoint = {"name": "m", "kind": "openai", "model": "gpt-4o", "base_url": server.url, "api_key": "sk-test"}
        environment = {"ANSWERBUS_MODELS": json.dumps({"endpoints": [endpoint]})}
        with running(tmp_path / "data", "--pipeline", "government", env=environment) as up:
            ingested = cli("ingest", str(PAGES), "--url", up.url)
            assert ingested.returncode == 0, ingested.stderr
            answered = _ask(up.url, EI)
            short = _ask(up.url, "passport renewal")

    result = answered["result"]
    assert answered["status"] == "COMPLETE"
    assert result["answer"]["content"].startswith(EI_SENTENCE)
    assert result["citations"][0]["source"] == "kb:employment-insurance.md"
    assert result["metadata"]["model"] == "gpt-4o"
    assert result["context"]["department"] == "EDSC-ESDC"
    assert (short["status"], short["result"]["answer"]["links"][0]["url"]) == (
        "ERROR",
        f"{SEARCH_EN}passport%20renewal",
    )


def test_up_with_this_pipeline_and_without_a_model_quotes_pages_with_their_department(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--pipeline", "government", env={"ANSWERBUS_MODELS": "off"}) as up:
        ingested = cli("ingest", str(PAGES), "--url", up.url)
        assert ingested.returncode == 0, ingested.stderr
        answered = _ask(up.url, EI)

    result = answered["result"]
    assert (answered["status"], result["engine"]) == ("COMPLETE", "extractive")
    assert EI_PAGE in [one["url"] for one in result["search_results"]]
    assert result["context"]["department"] == "EDSC-ESDC"
