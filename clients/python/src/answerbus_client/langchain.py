"""The documents of a platform as a retriever of LangChain (extra `langchain`).

async with AsyncAnswerbus(url, key) as client:
    chain = AnswerbusRetriever(client=client) | prompt | model
    await chain.ainvoke("How long may an assembly take?")
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from answerbus_client.asynchronous import AsyncAnswerbus
from answerbus_client.searches import Passage, SearchResult
from answerbus_client.synchronous import Answerbus


class AnswerbusRetriever(BaseRetriever):
    """Searches as the platform does for a question, with the rights of the client's key; best first.

    `client` awaits or blocks, and so serves `ainvoke` or `invoke`. A document's metadata are `source`, `title`, `url`,
    `language` and `score`, which can be compared within one search only. Calls raise the client's `AnswerbusError`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: AsyncAnswerbus | Answerbus
    limit: int = 10
    language: str = ""
    pipeline: str = ""
    collections: tuple[str, ...] = ()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if isinstance(self.client, AsyncAnswerbus):
            raise TypeError("this retriever has a client that awaits: use ainvoke, or give it an Answerbus")
        return _documents(self.client.search(query, **self._options()))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.client, AsyncAnswerbus):
            return _documents(await self.client.search(query, **self._options()))
        return await super()._aget_relevant_documents(query, run_manager=run_manager)

    def _options(self) -> dict[str, Any]:
        return {
            "limit": self.limit,
            "language": self.language,
            "pipeline": self.pipeline,
            "collections": self.collections,
        }


def _documents(found: SearchResult) -> list[Document]:
    return [_document(passage) for passage in found.passages]


def _document(passage: Passage) -> Document:
    metadata = {name: getattr(passage, name) for name in ("source", "title", "url", "language", "score")}
    return Document(id=passage.id, page_content=passage.text, metadata=metadata)
