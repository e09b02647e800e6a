"""The retriever of LangChain in the Python client: over HTTP answered by a transport."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from answerbus_client import Answerbus, AnswerbusError, AsyncAnswerbus
from answerbus_client.langchain import AnswerbusRetriever
from langchain_core.runnables import RunnableLambda

FOUND = {
    "passages": [
        {"id": "p1", "source": "kb:a.md", "text": "At eight.", "title": "Hours", "language": "eng", "score": 2.5},
        {"id": "p2", "source": "kb:b.md", "text": "On Monday."},
    ],
    "took_ms": 1.5,
}


class Gateway(httpx.MockTransport):
    """Answers searches, and keeps what was asked."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[dict[str, Any]] = []
        problem = {"title": "Forbidden", "status": status, "detail": "no"}

        def answer(request: httpx.Request) -> httpx.Response:
            self.asked.append(json.loads(request.content))
            return httpx.Response(status, json=FOUND if status == 200 else problem)

        super().__init__(answer)


async def test_chain_gets_passages_as_documents_with_their_source() -> None:
    gateway = Gateway()
    async with AsyncAnswerbus("http://gateway", http=httpx.AsyncClient(transport=gateway)) as client:
        retriever = AnswerbusRetriever(client=client, limit=2, pipeline="research", collections=("kb",))
        chain = retriever | RunnableLambda(lambda found: [(one.id, one.page_content, one.metadata) for one in found])
        first, second = await chain.ainvoke("When does it open?")

    assert gateway.asked[0]["query"] == "When does it open?"
    assert (gateway.asked[0]["limit"], gateway.asked[0]["pipeline"]) == (2, "research")
    about = {"source": "kb:a.md", "title": "Hours", "url": "", "language": "eng", "score": 2.5}
    assert first == ("p1", "At eight.", about)
    assert second[2]["source"] == "kb:b.md"


async def test_blocking_client_serves_both_ways_and_an_awaiting_one_only_ainvoke() -> None:
    with Answerbus("http://gateway", http=httpx.Client(transport=Gateway())) as client:
        retriever = AnswerbusRetriever(client=client)
        assert len(retriever.invoke("?")) == len(await retriever.ainvoke("?")) == 2
    async with AsyncAnswerbus("http://gateway", http=httpx.AsyncClient(transport=Gateway())) as waiting:
        with pytest.raises(TypeError, match="ainvoke"):
            AnswerbusRetriever(client=waiting).invoke("?")


async def test_refusal_of_the_server_is_the_clients_error() -> None:
    async with AsyncAnswerbus("http://gateway", http=httpx.AsyncClient(transport=Gateway(403))) as client:
        with pytest.raises(AnswerbusError):
            await AnswerbusRetriever(client=client).ainvoke("?")
