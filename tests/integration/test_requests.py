"""Request/reply between services: the reply, a refusal that keeps its kind, and nobody there."""

from __future__ import annotations

import asyncio
import time

import pytest

from shared.contracts import subjects
from shared.contracts.domain import Passage
from shared.contracts.errors import DocumentError, NotFoundError, RefusedError, UnavailableError
from shared.contracts.facts import QuestionApproved, QuestionAsked
from shared.contracts.requests.request import Request
from shared.contracts.requests.retrieval import SearchReply, SearchRequest
from shared.contracts.stage import Stage
from shared.observability.worker_status import WorkerReport
from shared.runtime.context import StageContext
from tests.integration.rig import Rig, asked, stage_of, until
from tests.support.speed import limit

pytestmark = pytest.mark.integration


async def search(request: SearchRequest) -> SearchReply:
    """Answers, or fails as the query says."""
    match request.query:
        case "unknown":
            raise NotFoundError("no such document")
        case "refused":
            raise DocumentError("that is a drawing")
        case "away":
            raise UnavailableError("the index is away")
        case "bug":
            raise KeyError("zanzibar")
        case "never":
            await asyncio.Event().wait()
    return SearchReply(passages=(Passage(id="1", source="kb:1", text=request.query),), took_ms=1.5)


def build(_: StageContext) -> Stage:
    stage = Stage("retrieval")
    stage.on_request(search)
    return stage


async def ask(rig: Rig, query: str, timeout: float = 5.0) -> SearchReply:
    return await rig.signals.ask(SearchRequest(query=query), timeout)


async def test_a_stage_replies_to_what_it_is_asked(rig: Rig) -> None:
    await rig.provision(build)
    async with rig.worker(build):
        reply = await ask(rig, "bees")

    assert reply == SearchReply(passages=(Passage(id="1", source="kb:1", text="bees"),), took_ms=1.5)


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        ("unknown", NotFoundError, "no such document"),
        ("refused", RefusedError, "that is a drawing"),
        ("away", UnavailableError, "the index is away"),
        ("bug", UnavailableError, "internal error: KeyError"),
    ],
)
async def test_a_stage_that_declines_says_why_and_in_which_way(
    rig: Rig, query: str, error: type[Exception], text: str
) -> None:
    await rig.provision(build)
    async with rig.worker(build):
        with pytest.raises(error, match=f"^{text}$") as raised:
            await ask(rig, query)

    assert type(raised.value) is error


async def test_a_request_that_does_not_fit_is_refused(rig: Rig) -> None:
    class Nothing(Request[SearchReply]):
        """No query at all."""

        stage, verb = "retrieval", "search"

    await rig.provision(build)
    async with rig.worker(build):
        with pytest.raises(RefusedError, match="query"):
            await rig.signals.ask(Nothing())


async def test_nobody_there_is_known_at_once(rig: Rig) -> None:
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="no retrieval worker is running"):
        await ask(rig, "bees")

    assert time.monotonic() - began < limit(2)


async def test_a_reply_that_does_not_come_is_not_waited_for_for_ever(rig: Rig) -> None:
    await rig.provision(build)
    async with rig.worker(build, graceful_seconds=0.1):
        with pytest.raises(UnavailableError, match=r"did not reply within 0\.2 s"):
            await ask(rig, "never", timeout=0.2)


async def test_a_slow_request_holds_up_no_other(rig: Rig) -> None:
    await rig.provision(build)
    async with rig.worker(build, graceful_seconds=0.1):
        slow = asyncio.create_task(ask(rig, "never", timeout=1.0))
        assert (await ask(rig, "bees")).passages
        assert not slow.done()
        with pytest.raises(UnavailableError):
            await slow


async def test_one_of_several_workers_replies(rig: Rig) -> None:
    await rig.provision(build)
    async with rig.worker(build), rig.worker(build):
        replies = await asyncio.gather(*(ask(rig, f"bees {number}") for number in range(20)))

    assert [reply.passages[0].text for reply in replies] == [f"bees {number}" for number in range(20)]


async def test_every_worker_answers_a_roll_call_with_what_it_holds(rig: Rig) -> None:
    gate = asyncio.Event()

    async def moderate(question: QuestionAsked) -> QuestionApproved | None:
        await gate.wait()
        return None

    stage = stage_of(moderate)
    await rig.provision(stage)
    async with rig.worker(stage) as worker:
        await rig.publish(asked())
        await until(lambda: worker.consumer.in_flight == 1, "it is at work")
        reply = await rig.client.request(subjects.ROLL_CALL, b"", timeout=limit(5))
        report = WorkerReport.model_validate_json(reply.data)
        gate.set()

    assert (report.stage, report.in_flight, report.worker) == ("moderation", 1, worker.name)
