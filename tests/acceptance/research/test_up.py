"""`answerbus up --pipeline research` and `answerbus demo --pipeline research`, as they are from a fresh clone."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from cli.operations.demo_script import read_demo
from tests.acceptance.research.research_model import FOLDER, QUESTION
from tests.support.platform import Platform, cli, running
from tests.support.speed import limit

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running(tmp_path_factory.mktemp("up") / "data", "--pipeline", "research") as up:
        yield up


def test_up_answers_with_citations_without_any_model(platform: Platform) -> None:
    documents = str(FOLDER / "demo" / "documents")
    ingested = cli("ingest", documents, "--pipeline", "research", "--data", str(platform.data))
    asked = httpx.post(
        f"{platform.url}/api/v1/query", json={"question": QUESTION}, timeout=limit(150), trust_env=False
    ).json()

    assert ingested.returncode == 0, ingested.stderr
    assert "3 indexed" in ingested.stdout
    assert "entities" in ingested.stdout
    assert asked["pipeline"]["name"] == "research"
    assert asked["result"]["engine"] == "extractive"
    assert asked["result"]["citations"]


def test_up_serves_the_shapes_of_a_graph_rag_service_under_the_name_of_the_pipeline(platform: Platform) -> None:
    reply = httpx.get(f"{platform.url}/graph-rag/research/api/v1/health", timeout=limit(30), trust_env=False)

    assert reply.json()["status"] == "ok"
    assert set(reply.json()["services"].values()) == {"healthy"}


def test_demonstration_shows_the_main_flow_with_scripted_replies() -> None:
    shown = cli("demo", "--pipeline", "research", timeout=limit(120))

    assert shown.returncode == 0, shown.stderr
    for question in read_demo(FOLDER).questions:
        assert question.ask in shown.stdout
    assert "Meridian uses the Tidewater log as its transport." in shown.stdout
    assert "QuestionRejected" in shown.stdout
