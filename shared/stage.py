"""A stage: what it hears, what it says, which questions it answers. Declared once, from the handlers' annotations.

    stage = Stage("moderation", settings=ModerationSettings)
    stage.on(moderate)

    async def moderate(
        asked: QuestionAsked, settings: ModerationSettings
    ) -> QuestionApproved | QuestionRejected: ...

The first parameter is the fact heard (a union of facts is heard through one filter only when it is `Ending`), the
return annotation the facts said. Subjects, durables, permissions, schemas, metric labels and the flow chart all come
from this. Nothing here knows a broker; `shared.delivery` carries a stage onto one, `shared.testing` onto a list.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from shared import subjects
from shared.access import Access
from shared.domain import Lane
from shared.envelope import Envelope, Event
from shared.facts import TERMINAL, Fact, QuestionAbandoned
from shared.pipelines import Section

Handler = Callable[..., Awaitable[Fact | None]]
Verb = Callable[[Any], Awaitable[BaseModel]]

ENDING = "ending"


class Port(Protocol):
    """Something a stage opens when its worker starts and closes when it stops."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Hearing:
    """One handler and what its annotations say of it."""

    stage: str
    facts: tuple[type[Fact], ...]
    says: tuple[type[Fact], ...]
    handler: Handler
    envelope_parameter: str | None = None
    settings_parameter: str | None = None
    #: How many a worker works on at once; 0: as many as the stage says.
    concurrency: int = 0

    @property
    def word(self) -> str:
        """`question-asked`, or `ending` for the filter over all terminal facts."""
        return ENDING if len(self.facts) > 1 else subjects.durable_word(self.facts[0])

    def filter(self, lane: Lane) -> str:
        return subjects.endings(lane) if len(self.facts) > 1 else subjects.heard(self.facts[0], lane)

    def durable(self, lane: Lane) -> str:
        return subjects.durable(self.stage, self.word, lane)

    async def perform(self, event: Event[Fact], section: Section | None) -> Fact | None:
        """Call the handler with what it asked for by annotation."""
        extra: dict[str, Any] = {}
        if self.envelope_parameter:
            extra[self.envelope_parameter] = event
        if self.settings_parameter:
            extra[self.settings_parameter] = section
        fact = await self.handler(event.payload, **extra)
        if fact is not None and type(fact) not in self.says:
            raise TypeError(f"{self.stage} said {type(fact).__name__}, which its handler's annotation does not name")
        return fact


@dataclass(frozen=True)
class Answering:
    """A verb other services may ask this stage by request/reply."""

    verb: str
    request: type[BaseModel]
    reply: type[BaseModel]
    handler: Verb


@dataclass
class Stage:
    """One service: its declarations, and how it likes its work.

    `slow` marks a stage whose handler waits for long (a model): it takes events one by one and never holds more than
    it works on. A fast stage takes them in batches.
    """

    name: str
    settings: type[Section] | None = None
    slow: bool = False
    concurrency: int = 0
    #: Also ends the questions of events that no worker survived.
    buries_undelivered: bool = False
    hearings: list[Hearing] = field(default_factory=list)
    answerings: list[Answering] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    also_says: tuple[type[Fact], ...] = ()
    #: What it does on the bus beside hearing and saying facts.
    access: Access = field(default_factory=Access)

    def on(self, handler: Handler, *, concurrency: int = 0) -> None:
        """Hear the fact that the handler's first parameter names, and say what it returns.

        `concurrency` limits how many a worker works on at once, where the work must not be in the way of the stage's
        other work.

        Raises:
            TypeError: when the annotations do not name facts.
        """
        hints = typing.get_type_hints(handler)
        said = _members(hints.pop("return", type(None)))
        names = [name for name in inspect.signature(handler).parameters if name in hints]
        heard = _members(hints[names[0]]) if names else ()
        if not heard or not all(issubclass(kind, Fact) for kind in heard):
            raise TypeError(f"{handler!r}: the first parameter must be a fact")
        if len(heard) > 1 and set(heard) != set(TERMINAL):
            raise TypeError(f"{handler!r}: one fact, or Ending")
        says = tuple(kind for kind in said if kind is not type(None))
        if not all(issubclass(kind, Fact) for kind in says):
            raise TypeError(f"{handler!r}: the return annotation must name facts")
        self.hearings.append(
            Hearing(
                stage=self.name,
                facts=heard,
                says=says,
                handler=handler,
                envelope_parameter=_parameter(hints, names[1:], Envelope),
                settings_parameter=_parameter(hints, names[1:], Section),
                concurrency=concurrency,
            )
        )

    def answers(self, verb: str, handler: Verb) -> None:
        """Answer `ask.<stage>.<verb>`; request and reply are pydantic models, named by annotation."""
        hints = typing.get_type_hints(handler)
        reply = hints.pop("return")
        (request,) = hints.values()
        self.answerings.append(Answering(verb, request, reply, handler))

    def opens(self, port: Port) -> None:
        """Open the port before work begins, close it after the last of it; later ones are closed first."""
        self.ports.append(port)

    def says(self, *facts: type[Fact]) -> None:
        """Declare facts said on a client's behalf rather than in answer to another fact."""
        self.also_says = (*self.also_says, *facts)

    @property
    def said(self) -> tuple[type[Fact], ...]:
        """Every fact this stage may say; one that hears steps of a question may also give it up."""
        facts = [fact for hearing in self.hearings for fact in hearing.says]
        heard = [fact for hearing in self.hearings for fact in hearing.facts]
        if self.buries_undelivered or any(not fact.aside and not fact.terminal for fact in heard):
            facts.append(QuestionAbandoned)
        return tuple(dict.fromkeys((*self.also_says, *facts)))


def _members(annotation: Any) -> tuple[type[Any], ...]:
    """The alternatives of a union, or the one type itself."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return tuple(typing.get_args(annotation))
    return (annotation,)


def _parameter(hints: dict[str, Any], names: list[str], kind: type) -> str | None:
    for name in names:
        if isinstance(hints[name], type) and issubclass(hints[name], kind):
            return name
    return None
