"""The agent searches for the asker: with the asker's groups, which no argument of the model can change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from services.answer.ports import QuestionRun
from services.answer.settings import AnswerSettings
from services.answer.tools.fetchable_addresses import FetchableAddresses
from services.answer.tools.ports import ToolContext
from services.answer.tools.search_context import SearchContext, SearchContextArguments
from shared.contracts.domain import Lane, Question
from shared.contracts.requests.retrieval import SearchReply, SearchRequest


async def test_agent_finds_what_the_asker_may_read() -> None:
    asked: list[SearchRequest] = []

    class Retrieval:
        async def ask(self, request: Any, timeout: float = 5.0) -> Any:
            asked.append(request)
            return SearchReply(passages=(), took_ms=1.0)

    deadline = datetime.now(UTC) + timedelta(seconds=60)
    run = QuestionRun("0" * 32, "0" * 32, "default", "d", Lane.LIVE, 0, deadline, groups=("staff",))
    context = ToolContext(Question(text="?"), run, AnswerSettings(), FetchableAddresses(()))

    await SearchContext(Retrieval()).run(SearchContextArguments(query="fees"), context)

    assert [request.groups for request in asked] == [("staff",)]


def test_model_cannot_name_groups() -> None:
    with pytest.raises(ValidationError):
        SearchContextArguments.model_validate({"query": "fees", "groups": ["staff"]})
