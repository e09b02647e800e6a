"""What the server needs of a gateway: JSON calls and the stream of a question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol


class ApiEvent(Protocol):
    """One event of a question's stream."""

    @property
    def event(self) -> str:
        """Its kind, for example `status`."""

    @property
    def data(self) -> dict[str, Any]:
        """Its JSON."""


class GatewayApi(Protocol):
    """The native API with the key of one caller."""

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of a reply; `options` are `json` and `params`.

        Raises:
            AnswerbusError: the request failed; its text says what to do.
        """

    def stream(self, question_id: str, *, user: str = "") -> AsyncIterator[ApiEvent]:
        """A question's events up to the result; `user` as in the native API.

        Raises:
            AnswerbusError: as `call`.
        """
