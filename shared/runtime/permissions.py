"""Who may say, hear and ask what on the bus: one user per service, derived from what the stages declare.

The names are those of the NATS server: a user publishes facts, requests to JetStream's API and acknowledgements, and
subscribes to its own replies. Nothing here knows a broker; `cli.operations.credentials` writes it down for the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shared.contracts import subjects
from shared.contracts.domain import Lane
from shared.contracts.facts import FACTS
from shared.contracts.stage import Stage, Subscription

#: Reads everything, provisions, manages consumers; may say no fact.
OPERATOR = "operator"
#: May say any fact, on either lane.
INJECTOR = "injector"

_API = "$JS.API"
_QA = subjects.STREAM


@dataclass(frozen=True)
class Permissions:
    """Subjects a user may publish and subscribe to, with wildcards; everything else is refused."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def users(stages: Sequence[Stage]) -> dict[str, Permissions]:
    """Every user of a platform with these stages, by name."""
    services = {stage.name: of_stage(stage) for stage in stages}
    return {**services, OPERATOR: of_operator(stages), INJECTOR: of_injector()}


def of_stage(stage: Stage) -> Permissions:
    """What one service may do: say its own facts, work on its own durables, and what its `Access` names."""
    publish = [subjects.publish_filter(fact, lane) for fact in stage.published for lane in Lane]
    publish += _dead_letters(stage)
    for durable in (subscription.durable(lane) for subscription in stage.subscriptions for lane in Lane):
        publish += _durable(_QA, durable)
    if any(fact.terminal for fact in stage.published):  # who came second reads the ending that came first
        publish += [f"{_API}.DIRECT.GET.{_QA}.{subjects.endings(lane)}" for lane in Lane]
    if stage.handles_max_deliveries:
        publish += [*_durable(subjects.ADVISORY_STREAM, subjects.MAX_DELIVERIES_DURABLE), _read(_QA)]
    publish += _pipelines()
    publish += _access(stage)
    subscribe = [
        f"{subjects.inbox(stage.name)}.>",
        subjects.ROLL_CALL,
        *_asked(stage),
        *_withdrawals(stage.subscriptions),
    ]
    return Permissions(_unique(publish), _unique([*subscribe, *stage.access.follows]))


def of_operator(stages: Sequence[Stage]) -> Permissions:
    """Reads everything and manages streams, durables, buckets and dead letters; says no fact."""
    publish = [f"{_API}.>", "$JS.ACK.>", "$JS.FC.>", "$KV.>", "$O.>", *subjects.DEAD_SUBJECTS]
    publish += [subjects.ROLL_CALL, *(one for stage in stages for one in _asked(stage))]
    heard = [*subjects.STREAM_SUBJECTS, *subjects.DEAD_SUBJECTS, f"{subjects.LIVE_PREFIX}.>", "$JS.EVENT.>"]
    return Permissions(_unique(publish), _unique([f"{subjects.inbox(OPERATOR)}.>", *heard]))


def of_injector() -> Permissions:
    """Says any fact, and reads the log and the pipelines to do so."""
    publish = [subjects.publish_filter(fact, lane) for fact in FACTS.values() for lane in Lane]
    publish += [f"{_API}.DIRECT.GET.{_QA}", f"{_API}.DIRECT.GET.{_QA}.>", f"{_API}.STREAM.INFO.{_QA}", _read(_QA)]
    publish += [f"{_API}.DIRECT.GET.{subjects.DEAD_STREAM}", f"{_API}.DIRECT.GET.{subjects.DEAD_STREAM}.>"]
    publish += [_read(subjects.DEAD_STREAM), f"{_API}.STREAM.INFO.{subjects.DEAD_STREAM}", *_pipelines()]
    publish.append(f"$KV.{subjects.CANDIDATES_BUCKET}.>")  # pipelines that a replay tries out
    return Permissions(
        _unique(publish), (f"{subjects.inbox(INJECTOR)}.>", *map(subjects.live, subjects.STREAM_SUBJECTS))
    )


def _durable(stream: str, name: str) -> list[str]:
    return [
        f"{_API}.CONSUMER.INFO.{stream}.{name}",
        subjects.pull(name, stream),
        f"$JS.ACK.{stream}.{name}.>",
    ]


def _dead_letters(stage: Stage) -> list[str]:
    if stage.handles_max_deliveries:  # also those of stages whose workers died
        return [subjects.dead_of("*")]
    return [subjects.dead_of(stage.name)] if stage.subscriptions else []


def _pipelines() -> list[str]:
    """Every process watches the pipelines: by ordered consumers of its own, on these buckets."""
    verbs = ("STREAM.INFO.{}", "CONSUMER.CREATE.{}", "CONSUMER.INFO.{}.*", "DIRECT.GET.{}", "DIRECT.GET.{}.>")
    streams = [f"KV_{bucket}" for bucket in (subjects.PIPELINES_BUCKET, subjects.CANDIDATES_BUCKET)]
    requests = [f"{_API}.{verb.format(stream)}" for stream in streams for verb in verbs]
    return [*requests, *(f"$JS.FC.{stream}.>" for stream in streams)]


def _access(stage: Stage) -> Iterator[str]:
    access = stage.access
    for bucket in (*access.reads, *access.keeps):
        yield _read(f"KV_{bucket}")
    for bucket in access.keeps:
        yield f"$KV.{bucket}.>"
    for bucket in access.objects:
        yield from (f"{_API}.STREAM.{verb}.OBJ_{bucket}" for verb in ("INFO", "PURGE"))
        yield from (_read(f"OBJ_{bucket}"), f"$O.{bucket}.>")
    for request in access.asks:
        yield subjects.ask(request.stage, request.verb)
    for signal in access.signals:
        yield subjects.signal(signal.kind, "*")
    if access.log:
        yield from (f"{_API}.DIRECT.GET.{_QA}", f"{_API}.DIRECT.GET.{_QA}.>")
    if access.erases:
        erased = (_QA, subjects.DEAD_STREAM, *(f"KV_{bucket}" for bucket in access.keeps))
        yield from (f"{_API}.STREAM.MSG.DELETE.{stream}" for stream in erased)
        yield _read(subjects.DEAD_STREAM)
    if access.stages:
        yield from (f"{_API}.CONSUMER.LIST.{_QA}", _read(_QA), subjects.ROLL_CALL)
    if access.dead:
        yield _read(subjects.DEAD_STREAM)


def _read(stream: str) -> str:
    """One message, wrapped in JSON.

    Not by direct get where the reader can also write: that sends the stored bytes to any reply subject, also that of
    a fact, and permissions do not cover reply subjects.
    """
    return f"{_API}.STREAM.MSG.GET.{stream}"


def _asked(stage: Stage) -> list[str]:
    return [subjects.ask(stage.name, answering.verb) for answering in stage.request_handlers]


def _withdrawals(subscriptions: Iterable[Subscription]) -> list[str]:
    if all(fact.out_of_band for subscription in subscriptions for fact in subscription.facts):
        return []
    return [subjects.live(subjects.consume_filter(FACTS["QuestionWithdrawn"], lane)) for lane in Lane]


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
