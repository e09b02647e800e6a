"""Plays `Models` with endpoints in a cascade: tried in order, again where that may help, the next one where not.

langchain's own `with_retry` and `with_fallbacks` know neither the question's deadline nor the endpoints' breakers, and
cannot take back a half-told reply; so the walk is here, and langchain makes the calls (docs/decisions/).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from shared.contracts.errors import ModelError
from shared.llm import call_context
from shared.llm.call_record import CallRecorder
from shared.llm.endpoint import Endpoint
from shared.llm.faults import Fault
from shared.llm.ports import Listener, M, Message, Reply, Role, Tool
from shared.llm.structured_output import UnreadableError, form_of, read, repair, schema_of
from shared.llm.time_budget import REPLY_SHARE, STEP_SHARE, Budget
from shared.observability import telemetry

#: Seconds before the second try; doubled each time, with jitter.
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0
#: Nobody waits longer than this for one endpoint while another one could be asked.
_PATIENCE = 1.0
#: Less time than this is not worth a request.
_TOO_LATE = 0.05

Attempt = Callable[[Endpoint, float], Awaitable[Reply]]


class FallbackModels:
    """The models of this process; `roles` are the endpoints by role, in the order they are tried."""

    def __init__(self, roles: Mapping[str, Sequence[Endpoint]]) -> None:
        self._roles = {role: tuple(endpoints) for role, endpoints in roles.items()}

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Every endpoint once."""
        return tuple(dict.fromkeys(one for endpoints in self._roles.values() for one in endpoints))

    def has(self, role: Role) -> bool:
        return bool(self._roles.get(role))

    async def invoke(self, role: Role, step: str, system: str, user: str, response_model: type[M]) -> M:
        recorder = CallRecorder(role, step, system)
        schema = schema_of(response_model)
        asked = Message(author="system", text=f"{system.rstrip()}\n\n{form_of(response_model)}")
        messages = [asked, Message(author="user", text=user)]
        budget = _budget(STEP_SHARE)
        outcome = "cancelled"

        async def ask(endpoint: Endpoint, left: float) -> Reply:
            return await endpoint.whole(messages, schema, recorder, left)

        try:
            reply = await self._walk(role, ask, budget)
            outcome = "ok"
            try:
                return read(reply.text, response_model, cut=reply.cut)
            except UnreadableError as unreadable:
                messages = repair(messages, reply.text, str(unreadable))
            reply = await self._walk(role, ask, budget)
            outcome = "repaired"
            return read(reply.text, response_model, cut=reply.cut)
        except Fault as fault:
            outcome = fault.reason
            raise _failure(role, step, outcome) from None
        except UnreadableError:
            outcome = "malformed"
            raise _failure(role, step, outcome) from None
        finally:
            recorder.close(outcome)

    async def converse(
        self,
        role: Role,
        step: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        listener: Listener | None = None,
    ) -> Reply:
        recorder = CallRecorder(role, step, next((one.text for one in messages if one.author == "system"), ""))
        outcome = "cancelled"

        async def ask(endpoint: Endpoint, left: float) -> Reply:
            return await endpoint.stream(messages, tools, listener, recorder, left)

        try:
            reply = await self._walk(role, ask, _budget(REPLY_SHARE))
            outcome = "cut" if reply.cut else "ok"
            return reply
        except Fault as fault:
            outcome = fault.reason
            raise _failure(role, step, outcome) from None
        finally:
            recorder.close(outcome)

    async def warm(self) -> None:
        """Import and configure the clients now, so that the first question does not wait for it."""
        for endpoint in self.endpoints:
            await endpoint.warm()

    async def close(self) -> None:
        """Close every connection; running calls fail."""
        for endpoint in self.endpoints:
            await endpoint.close()

    async def _walk(self, role: Role, ask: Attempt, budget: Budget) -> Reply:
        """The first reply of the cascade.

        Raises:
            Fault: the last one met, or that there was nobody to ask.
        """
        fault = Fault("not_configured")
        waiting = list(self._roles.get(role, ()))
        while waiting:
            endpoint = waiting.pop(0)
            others = sum(not other.breaker.is_open for other in waiting)
            try:
                return await _persist(endpoint, ask, budget.share(1 + others), alone=not others)
            except Fault as met:
                fault = met
        raise fault


async def _persist(endpoint: Endpoint, ask: Attempt, allowed: float, *, alone: bool) -> Reply:
    """Several tries at one endpoint within `allowed` seconds.

    Raises:
        Fault: the last try's.
    """
    ends = time.monotonic() + allowed
    patience = allowed if alone else min(allowed, _PATIENCE)
    last = Fault("timeout")
    for number in range(endpoint.settings.tries):
        left = ends - time.monotonic()
        if left <= _TOO_LATE:
            raise last
        probing = endpoint.breaker.is_open
        try:
            return await ask(endpoint, left)
        except Fault as fault:
            if fault.reason == "breaker_open" and number:
                raise last from None  # our own tries opened it
            last = fault
            pause = _pause(number, fault)
            hopeless = probing or not fault.again or number + 1 == endpoint.settings.tries
            if hopeless or pause > patience or endpoint.breaker.is_open:
                raise
            await asyncio.sleep(min(pause, max(0.0, ends - time.monotonic())))
    raise last


def _pause(number: int, fault: Fault) -> float:
    """Seconds before the next try: what the endpoint asked for, else exponential with full jitter's upper half."""
    if fault.wait is not None:
        return fault.wait
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**number)
    return random.uniform(longest / 2, longest)  # noqa: S311 (spreads tries, hides nothing)


def _budget(share: float) -> Budget:
    here = call_context.ledger()
    return Budget(here.deadline if here else None, share)


def _failure(role: str, step: str, reason: str) -> ModelError:
    telemetry.MODEL_FALLBACKS.labels(step, reason).inc()
    return ModelError(f"no usable reply of the role {role} for the step {step}: {reason}")
