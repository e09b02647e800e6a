"""The store of answered questions and the decision over it, without a platform around them: for measuring."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

from services.retrieval.embeddings import create_embeddings
from services.retrieval.semantic_cache.decision import Candidate, decide
from services.retrieval.semantic_cache.question_store import AskedQuestions, scope_of
from services.retrieval.settings import RetrievalSettings
from services.retrieval.stores import create_vector_index
from shared.contracts.domain import PipelineRef, Question, Reusable
from shared.contracts.envelope import correlation_id_for, opening
from shared.contracts.facts import ExchangeRecorded
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings

_REF = PipelineRef(name="trial", revision=1)
_TENANT = "trial"
#: Questions kept beside each other, so that the store writes them together.
_BATCH = 256


class Trial:
    """Keeps questions with a name for their answer, and says which answer another question would get."""

    def __init__(self, settings: Settings, pipeline: Pipeline, language: str) -> None:
        self._settings = pipeline.section("retrieval", RetrievalSettings).similar
        self._embeddings = create_embeddings(settings)
        self._asked = AskedQuestions(create_vector_index(settings, "asked"), self._embeddings)
        self._language = language
        self._answers: dict[str, tuple[str, str]] = {}

    @property
    def by_meaning(self) -> bool:
        """Whether questions are compared by vectors, and not by words alone."""
        return self._embeddings is not None and self._language in self._settings.near

    async def open(self) -> None:
        if self._embeddings is not None:
            await self._embeddings.open()
        await self._asked.open()

    async def close(self) -> None:
        await self._asked.close()
        if self._embeddings is not None:
            await self._embeddings.close()

    async def prepare(self, texts: Sequence[str]) -> None:
        """Have the vectors of these texts, a few hundred, made at once; those that are asked for next.

        Raises:
            UnavailableError: the embeddings are away.
        """
        if self._embeddings is not None:
            await self._embeddings.of_questions(texts)

    async def keep(self, questions: Sequence[tuple[str, str]]) -> None:
        """Keep (question, name of its answer) pairs.

        Raises:
            UnavailableError: the embeddings are away.
        """
        for first in range(0, len(questions), _BATCH):
            await self.prepare([text for text, _ in questions[first : first + _BATCH]])
            await asyncio.gather(*(self._keep(*one) for one in questions[first : first + _BATCH]))

    async def ask(self, text: str) -> tuple[str, str, str]:
        """The name of the answer that the question would get and the question it comes from, or two empty texts; and
        why."""
        question = Question(text=text, language=self._language)
        scope = scope_of(_TENANT, _REF.name, _REF.revision, self._language)
        verdict = decide(text, self._language, await self._asked.near(question, scope, self._settings), self._settings)
        answer, origin = self._answers[verdict.taken.origin] if verdict.taken else ("", "")
        return answer, origin, verdict.why

    async def compare(self, one: str, other: str) -> tuple[bool, str]:
        """Whether the one question would get the answer of the other if that were the only one kept, and why."""
        near = None
        if self._embeddings is not None and self.by_meaning:
            mine, theirs = await self._embeddings.of_questions([one, other])
            norms = sum(x * x for x in mine) ** 0.5 * sum(x * x for x in theirs) ** 0.5
            near = sum(x * y for x, y in zip(mine, theirs, strict=True)) / norms if norms else 0.0
        verdict = decide(one, self._language, [Candidate("only", other, "only", near)], self._settings)
        return verdict.taken is not None, verdict.why

    async def _keep(self, text: str, answer: str) -> None:
        cid = correlation_id_for("trial", text, answer)
        digest = hashlib.sha256(answer.encode()).hexdigest()[:32]
        reusable = Reusable(question=text, language=self._language, answer=digest, sources=())
        said = ExchangeRecorded(record=cid, outcome="answered", reusable=reusable)
        event = opening("persistence", said, pipeline=_REF, deadline_seconds=60, correlation_id=cid, tenant=_TENANT)
        self._answers[cid] = (answer, text)
        await self._asked.keep(reusable, digest, event, self._settings)
