"""The constants of the packaged research pipeline, and what they do to a search."""

from __future__ import annotations

import pytest

from services.answer.settings import AnswerSettings
from services.gateway.settings import GatewaySettings
from services.moderation.settings import ModerationSettings
from services.retrieval.rank_fusion import fuse, joined
from services.retrieval.settings import RetrievalSettings
from services.verifier.settings import VerifierSettings
from shared.contracts.domain import Passage
from shared.runtime.pipelines import read_pipeline
from tests.acceptance.research.conftest import Researcher
from tests.acceptance.research.research_model import FOLDER, PARTS

PIPELINE = read_pipeline(FOLDER)
RETRIEVAL = PIPELINE.section("retrieval", RetrievalSettings)


def passage(name: str, score: float) -> Passage:
    return Passage(id=name, source=f"kb:{name}", text=name, score=score)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("candidates", 20),
        ("graph_hops", 2),
        ("rrf_k", 60),
        ("fusion", "ranks"),
        ("graph_fusion", "ranks"),
        ("passages", 10),
        ("chunk_chars", 512),
        ("chunk_overlap", 50),
        ("retrievers", ("dense", "graph")),
    ],
)
def test_setting_of_retrieval_is_that_of_the_document(name: str, value: object) -> None:
    assert getattr(RETRIEVAL, name) == value


def test_plan_extraction_judge_guardrails_and_request_options_are_on() -> None:
    verifier = PIPELINE.section("verifier", VerifierSettings)
    moderation = PIPELINE.section("moderation", ModerationSettings)

    assert RETRIEVAL.query_rewriting.decomposition
    assert RETRIEVAL.query_rewriting.max_sub_questions == 4
    assert RETRIEVAL.extraction.model
    assert (verifier.verification, verifier.threshold, verifier.max_refutations) == ("judge", 0.7, 2)
    assert verifier.guardrails
    assert moderation.guardrails_colang
    assert (moderation.guardrails_fail, verifier.guardrails_fail) == ("open", "open")
    assert PIPELINE.section("gateway", GatewaySettings).request_options == ("top_k", "engine", "passages")
    assert PIPELINE.section("answer", AnswerSettings).stream == "verified"


def test_twenty_candidates_of_each_list_are_fused(researcher: Researcher) -> None:
    """Thirty documents say nearly the same; the search by words stands in for the one by meaning."""
    body = {"query": "rows of the ledger in a drawer", "collections": [PARTS], "limit": 10, "explain": True}
    explained = researcher.post("/api/v1/search", body).json()["explanation"]
    found = {one["name"]: len(one["hits"]) for one in explained["retrievers"]}

    assert found["bm25"] == 20
    assert found["graph"] <= 20


def test_passage_is_worth_the_sum_of_one_by_sixty_plus_its_rank_in_each_list() -> None:
    by_meaning = [passage("a", 0.9), passage("b", 0.8), passage("c", 0.7)]
    by_links = [passage("c", 0.5), passage("d", 0.4), passage("a", 0.3)]
    fused = joined({"seeds": by_meaning, "graph": by_links}, k=RETRIEVAL.rrf_k)
    worth = {"a": 1 / 61 + 1 / 63, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 62}

    assert [one.id for one in fused] == sorted(worth, key=lambda name: (-worth[name], name))
    for one in fused:  # as a share of what first places in both lists are worth
        assert one.score == pytest.approx(worth[one.id] / (2 / 61), abs=1e-4)


def test_passage_of_both_lists_is_there_once_with_both_as_its_origin() -> None:
    both = {"dense": [passage("a", 0.9), passage("b", 0.2)], "bm25": [passage("a", 7.0)]}
    fused = fuse(both, by="ranks", k=RETRIEVAL.rrf_k)

    assert [(one.id, one.via) for one in fused] == [("a", ("dense", "bm25")), ("b", ("dense",))]
