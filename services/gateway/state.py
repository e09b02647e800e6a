"""What the routes share: the use cases and the ports, in one place on the application."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from services.gateway.admission import Admission
from services.gateway.auth import Doorkeeper
from services.gateway.erasure import Oblivion
from services.gateway.handler import Reception
from services.gateway.stream import LiveFeed
from shared.runtime.context import StageContext


@dataclass(frozen=True)
class Gateway:
    context: StageContext
    reception: Reception
    feed: LiveFeed
    doorkeeper: Doorkeeper
    admission: Admission

    @property
    def oblivion(self) -> Oblivion:
        here = self.context
        return Oblivion(here.settings, here.pipelines, here.facts("gateway"), here.log, self.feed)


async def gateway(request: Request) -> Gateway:
    """The dependency of every route; async, as others are run on a thread each time."""
    state: Gateway = request.app.state.gateway
    return state
