"""The requests that both clients send, and how long they wait before they send one again."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from answerbus_client.errors import AnswerbusError, OverloadedError, ResponseError, UnavailableError

Rating = Literal["up", "down"]
QUESTIONS = "/api/v1/questions"
#: Seconds: until a connection is open; between two parts of a reply (a stream has a keep-alive every ten).
CONNECT_SECONDS, SILENCE_SECONDS = 10.0, 35.0
#: Seconds before a request is sent again: the first pause; it doubles up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
#: Seconds that a Retry-After may ask for; a longer one is an error at once.
LONGEST_RETRY_AFTER = 60.0


@dataclass(frozen=True)
class NewQuestion:
    """A question with everything that may be said about it; see the HTTP API."""

    question: str
    conversation_id: str = ""
    pipeline: str = ""
    language: str = ""
    collections: Sequence[str] = ()
    time_zone: str = ""
    client: Mapping[str, str] = field(default_factory=dict)

    def json(self, user: str) -> dict[str, Any]:
        """As the server takes it; `user` is the person it is asked for."""
        texts = {name: getattr(self, name) for name in ("conversation_id", "pipeline", "language", "time_zone")}
        body: dict[str, Any] = {"question": self.question, **{name: text for name, text in texts.items() if text}}
        if self.collections:
            body["collections"] = list(self.collections)
        if context := {**({"user": user} if user else {}), **self.client}:
            body["client"] = context
        return body


@dataclass(frozen=True)
class Connection:
    """Where the server is, and the asker's key; `retries` is how often a request is sent again."""

    base_url: str
    api_key: str = ""
    user: str = ""
    retries: int = 4

    @classmethod
    def of(cls, base_url: str, api_key: str, user: str, retries: int) -> Connection:
        """Of the parameters or, where they are empty, ANSWERBUS_URL and ANSWERBUS_API_KEY."""
        url = base_url or os.environ.get("ANSWERBUS_URL", "") or "http://127.0.0.1:8080"
        return cls(url.rstrip("/"), api_key or os.environ.get("ANSWERBUS_API_KEY", ""), user, retries)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    @property
    def params(self) -> dict[str, str]:
        """What names the asker in requests about a question."""
        return {"user": self.user} if self.user else {}

    @property
    def timeout(self) -> httpx.Timeout:
        return httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)


def new_key() -> str:
    """An Idempotency-Key: however often a question is sent with it, it is one question."""
    return uuid.uuid4().hex


def pause_before(attempt: int, error: Exception | None = None) -> float | None:
    """Seconds before try number `attempt` (from 1); None where trying again does not help.

    What the server asks for (Retry-After) counts; otherwise the pause doubles, with some chance in it, so that many
    clients do not come back together.
    """
    if isinstance(error, ResponseError) and not isinstance(error, OverloadedError | UnavailableError):
        return None
    asked_for = error.retry_after if isinstance(error, ResponseError) else None
    if asked_for is not None:
        return asked_for if asked_for <= LONGEST_RETRY_AFTER else None
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def json_of(reply: httpx.Response) -> Any:
    """The JSON of a reply; None where it has no body.

    Raises:
        AnswerbusError: it is not JSON; the address may belong to another server.
    """
    try:
        return reply.json() if reply.content else None
    except ValueError:
        raise AnswerbusError(f"{reply.url}: the reply is no JSON; is there an Answerbus at this address?") from None


def feedback(rating: Rating, reason: str, comment: str) -> dict[str, str]:
    """The body of a rating."""
    return {"rating": rating, "reason": reason, "comment": comment}


def search(query: str, limit: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search; options that are empty are left out."""
    return {"query": query, "limit": limit, **{name: value for name, value in options.items() if value}}
