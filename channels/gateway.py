"""The gateway behind its Python client: one owner of questions for each person (or thread) of a channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import answerbus_client
import httpx
from answerbus_client import AsyncAnswerbus, NewQuestion, Question, StatusEvent, TokenEvent

from channels.messages import RatingName
from channels.ports import ChatQuestion
from channels.settings import ChannelSettings
from shared.contracts.errors import RefusedError, UnavailableError

#: Errors that the same request would meet again.
_REFUSALS = (
    answerbus_client.InvalidRequestError,
    answerbus_client.AuthenticationError,
    answerbus_client.PermissionDeniedError,
    answerbus_client.NotFoundError,
)
#: The gateway refuses control characters other than tab and line breaks.
_NO_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


class ClientGateway:
    """`QuestionGateway` of one channel; `http` is shared by all and not closed."""

    def __init__(self, settings: ChannelSettings, url: str, api_key: str, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._url = url
        self._api_key = api_key
        self._http = http

    async def ask(self, question: ChatQuestion) -> str:
        settings = self._settings
        new = NewQuestion(
            question.text.translate(_NO_CONTROLS),
            conversation_id=question.conversation_id,
            pipeline=settings.pipeline,
            language=settings.language,
            collections=settings.collections,
        )
        with _translated():
            return (await self._client(question.asker).ask(new, idempotency_key=question.idempotency_key)).id

    async def wait(self, question_id: str, asker: str, writing: Callable[[], None]) -> Question:
        with _translated():
            stream = self._client(asker).watch(question_id)
            async for event in stream:
                if isinstance(event, TokenEvent) or (
                    isinstance(event, StatusEvent) and event.status == "GENERATING_ANSWER"
                ):
                    writing()
            if stream.question is None:
                raise UnavailableError("the stream of the question ended without its result")
            return stream.question

    async def withdraw(self, question_id: str, asker: str) -> None:
        with _translated():
            await self._client(asker).withdraw(question_id)

    async def rate(self, question_id: str, asker: str, rating: RatingName) -> None:
        with _translated():
            await self._client(asker).rate(question_id, rating)

    def _client(self, asker: str) -> AsyncAnswerbus:
        return AsyncAnswerbus(self._url, self._api_key, user=asker, http=self._http)


@contextmanager
def _translated() -> Iterator[None]:
    """Raises errors of the client as errors of this program."""
    try:
        yield
    except _REFUSALS as error:
        raise RefusedError(f"the gateway refuses it: {error}") from error
    except answerbus_client.AnswerbusError as error:
        raise UnavailableError(f"the gateway did not answer: {error}") from error
