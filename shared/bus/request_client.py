"""Sends requests to other services: subject `ask.<stage>.<verb>`, JSON both ways, errors in a header."""

from __future__ import annotations

from typing import cast

from nats.aio.client import Client
from nats.errors import ConnectionClosedError, NoRespondersError, OutboundBufferLimitError
from nats.errors import TimeoutError as NatsTimeoutError

from shared.contracts import subjects
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError
from shared.contracts.requests.request import R, Request

#: Header of an error reply: its value is the kind of the error, the body its text.
REFUSAL = "Answerbus-Refusal"


async def send_request(client: Client, request: Request[R], timeout: float) -> R:
    """Send the request to one worker of its stage and wait up to `timeout` seconds for the reply.

    Raises:
        UnavailableError: no worker is running, or none replied in time.
        NotFoundError, RefusedError: the worker replied with that error.
    """
    stage = request.stage
    try:
        message = await client.request(
            subjects.ask(stage, request.verb), request.model_dump_json().encode(), timeout=timeout
        )
    except NoRespondersError:
        raise UnavailableError(f"no {stage} worker is running") from None
    except (NatsTimeoutError, ConnectionClosedError, OutboundBufferLimitError):
        raise UnavailableError(f"{stage} did not reply within {timeout:g} s") from None
    kind = (message.headers or {}).get(REFUSAL)
    if kind == NotFoundError.kind:
        raise NotFoundError(message.data.decode())
    if kind == UnavailableError.kind:
        raise UnavailableError(message.data.decode())
    if kind:
        raise RefusedError(message.data.decode())
    return cast("R", request.reply.model_validate_json(message.data))
