"""What every request between services is: its stage and verb as class variables, its parameters as fields."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Protocol, TypeVar

from shared.contracts.domain import Value

R = TypeVar("R", bound=Value)


class Request(Value, Generic[R]):
    """A request that one service sends to another by `ask.<stage>.<verb>`; `Request[ExchangeReply]` names its reply.

    A service that sends it names the class in its `Access`, one that replies takes it as its handler's parameter:
    subjects and permissions are derived from that.
    """

    stage: ClassVar[str]
    verb: ClassVar[str]
    reply: ClassVar[type[Value]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for base in cls.__mro__:
            found = base.__dict__.get("__pydantic_generic_metadata__", {})
            if found.get("origin") is Request and isinstance(found["args"][0], type):
                cls.reply = found["args"][0]
                return


class RequestClient(Protocol):
    """Sends requests to other services."""

    async def ask(self, request: Request[R], timeout: float = 5.0) -> R:
        """The reply, waited for `timeout` seconds.

        Raises:
            UnavailableError: nobody replies within the timeout.
            NotFoundError, RefusedError: the other stage declined; the text says why.
        """
