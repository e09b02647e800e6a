"""Requests made up from the server's OpenAPI document: valid ones, invalid ones, and none may be answered with 5xx."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

from tests.support.speed import limit

#: Seconds for the head of a response; streams are hung up on as soon as it is there.
TIMEOUT = 120
#: A gateway says with it that it was not given the rights, or cannot answer in time, or not now: no bug.
_HONEST = (501, 503, 504)


Say = Callable[[str], None]


@dataclass
class Requests:
    """Responses by operation and status; `failed` has the first request of each operation that got a 5xx."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    @property
    def errors(self) -> int:
        """Responses with 5xx that are no honest ones."""
        return sum(number for (_, status), number in self.statuses.items() if status >= 500 and status not in _HONEST)


def fuzz(
    url: str,
    *,
    examples: int,
    number: int = 0,
    total: int = 0,
    headers: dict[str, str] | None = None,
    say: Say = lambda _: None,
) -> Requests:
    """Send every operation of the server at `url` so many valid and as many invalid requests.

    An operation of which there are fewer gets fewer. With `total`, all operations are gone through again and again,
    each time with other requests, until so many were sent. The same number gives the same requests. `say` is told each
    operation that is done.
    """
    done = Requests()
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", timeout=limit(30))
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(headers or {})
        try:
            _go_through(schema, session, url, done, examples, number, say)
            while done.count < total:
                number += 1
                _go_through(schema, session, url, done, examples, number, say)
        except KeyboardInterrupt:
            say(f"stopped after {done.count} requests")  # what was found until then is still told
    return done


def _go_through(
    schema: Any, session: requests.Session, url: str, done: Requests, examples: int, number: int, say: Say
) -> None:
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.NEGATIVE and not _has_parameters(operation):
                continue
            # Of an operation that takes any text there is no invalid request.
            with contextlib.suppress(*((Unsatisfiable,) if mode is GenerationMode.NEGATIVE else ())):
                _send(operation.as_strategy(generation_mode=mode), session, url, done, examples, number)
        say(f"{done.count:6} requests, {done.errors} answered with 5xx: {operation.label}")


def _has_parameters(operation: schemathesis.APIOperation) -> bool:
    return bool(operation.body or operation.query or operation.path_parameters or operation.headers)


def _send(cases: object, session: requests.Session, url: str, done: Requests, examples: int, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)  # type: ignore[arg-type]
    def send(case: Case) -> None:
        name = f"{case.method} {case.operation.path}"
        began = time.monotonic()
        try:
            reply = session.request(**case.as_transport_kwargs(base_url=url), stream=True, timeout=TIMEOUT)
        except (requests.exceptions.InvalidHeader, UnicodeError):
            return  # the client itself does not send it
        status = reply.status_code
        done.slowest = max(done.slowest, (time.monotonic() - began, name))
        done.statuses[name, status] += 1
        if status >= 500 and status not in _HONEST:
            done.failed.setdefault(name, f"{status}: {case.as_curl_command()[:1000]}")
        reply.close()

    send()
