"""The directory on SQLite and PostgreSQL: what is found, and that a slot is booked once however many want it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.persistence.directory import Directory
from services.persistence.sql.catalogue import Catalogue
from services.persistence.sql.record import Record
from shared.contracts.errors import NotFoundError, RefusedError, UnavailableError
from shared.contracts.payloads import ContentItem, Expert, Slot
from shared.contracts.requests.directory import (
    AvailabilityRequest,
    BookRequest,
    ContentRequest,
    DirectoryRequest,
    ExpertsRequest,
    LoadRequest,
)
from tests.support.servers import free_port

pytestmark = pytest.mark.integration

TOMORROW = (datetime.now(UTC) + timedelta(days=1)).replace(hour=10, minute=0, second=0, microsecond=0)
AMARA = Expert(
    id="amara",
    name="Dr. Amara Lind",
    title="Psychologist",
    about="Works on sleep and worry.",
    topics=("anxiety", "stress"),
    languages=("eng", "fra"),
    session_types=("video", "phone"),
)
BORIS = Expert(id="boris", name="Boris Lind", topics=("grief",), languages=("deu",), session_types=("video",))
SLOTS = tuple(
    Slot(
        id=f"amara-{hour}",
        expert_id="amara",
        starts_at=TOMORROW + timedelta(hours=hour),
        ends_at=TOMORROW + timedelta(hours=hour, minutes=50),
    )
    for hour in (-48, 0, 2, 4)
)
CONTENT = (
    ContentItem(id="a1", title="Less stress at work", topics=("stress",), language="eng"),
    ContentItem(id="v1", title="Breathing", kind="videos", topics=("stress",), language="eng"),
    ContentItem(id="a2", title="Le stress au travail", topics=("stress",), language="fra"),
    ContentItem(id="a3", title="Sleeping well", topics=("sleep",), language="eng"),
)


@pytest.fixture(params=["sqlite", "postgres"])
async def directories(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Directory]]:
    """Two workers' directories on one database."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'record' / 'record.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").new_database()
    records = [Record(url), Record(url)]
    for record in records:
        await record.open()
    found = [Directory(Catalogue(record)) for record in records]
    await found[0].load(LoadRequest(experts=(AMARA, BORIS), slots=SLOTS, content=CONTENT))
    yield found
    for record in records:
        await record.close()


def wanting(number: int, slot: str = "amara-0", expert: str = "amara") -> BookRequest:
    return BookRequest(question=f"{number:032x}", expert=expert, slot=slot, session_type="video")


async def test_fifty_who_want_one_slot_at_once_leave_it_booked_exactly_once(directories: list[Directory]) -> None:
    replies = await asyncio.gather(*(directories[number % 2].book(wanting(number)) for number in range(50)))

    assert Counter(reply.outcome for reply in replies) == {"booked": 1, "taken": 49}
    overview = await directories[0].overview(DirectoryRequest())
    (winner,) = (reply.session for reply in replies if reply.outcome == "booked")
    assert [session.id for session in overview.sessions] == [winner.id if winner else ""]
    assert {slot.id for reply in replies for slot in reply.free} == {"amara-2", "amara-4"}


async def test_a_question_that_books_again_gets_the_session_it_has(directories: list[Directory]) -> None:
    """Redelivered work may be done by another worker, at the same time, and choose another slot."""
    wanted = [wanting(1, slot) for slot in ("amara-0", "amara-2", "amara-4") for _ in range(8)]

    replies = await asyncio.gather(*(directories[at % 2].book(one) for at, one in enumerate(wanted)))

    assert Counter(reply.outcome for reply in replies) == {"booked": 1, "had": 23}
    assert len({reply.session.slot_id for reply in replies if reply.session}) == 1
    assert (await directories[0].overview(DirectoryRequest())).free == {"amara": 2}


async def test_a_booked_slot_is_no_longer_free(directories: list[Directory]) -> None:
    here = directories[0]

    before = await here.availability(AvailabilityRequest(expert="Dr. Amara Lind"))
    await here.book(wanting(1, "amara-2"))
    after = await here.availability(AvailabilityRequest(expert="amara"))

    assert [slot.id for slot in before.slots] == ["amara-0", "amara-2", "amara-4"]
    assert [slot.id for slot in after.slots] == ["amara-0", "amara-4"]


async def test_a_slot_can_be_named_by_its_beginning_and_an_expert_by_part_of_the_name(
    directories: list[Directory],
) -> None:
    reply = await directories[0].book(wanting(1, TOMORROW.isoformat(), "Dr. Amara"))

    assert reply.session is not None
    assert (reply.session.slot_id, reply.session.expert_name) == ("amara-0", "Dr. Amara Lind")


async def test_a_window_of_time_limits_what_is_offered(directories: list[Directory]) -> None:
    window = AvailabilityRequest(expert="amara", start=TOMORROW, end=TOMORROW + timedelta(hours=3))

    assert [slot.id for slot in (await directories[0].availability(window)).slots] == ["amara-2"]


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        (wanting(1, "amara-9"), NotFoundError, "no slot at that time"),
        (wanting(1, "amara--48"), RefusedError, "already begun"),
        (wanting(1, expert="Nobody"), NotFoundError, "no expert of that name"),
        (wanting(1, expert="Lind"), RefusedError, "several experts"),
        (wanting(1, expert="boris"), NotFoundError, "no slot at that time"),
    ],
)
async def test_what_cannot_be_booked_is_refused_with_a_reason(
    directories: list[Directory], request_: BookRequest, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        await directories[0].book(request_)


async def test_experts_are_found_by_topic_kind_of_session_and_language(directories: list[Directory]) -> None:
    async def found(**wanted: str) -> list[str]:
        return [expert.id for expert in (await directories[0].experts(ExpertsRequest(**wanted))).experts]  # type: ignore[arg-type]

    assert await found(topic="my anxiety at night") == ["amara"]
    assert await found(session_type="phone") == ["amara"]
    assert await found(language="de") == ["boris"]
    assert await found(topic="astronomy") == ["boris", "amara"]


async def test_content_is_found_by_topic_and_kind_in_the_language_first(directories: list[Directory]) -> None:
    async def found(**wanted: str) -> list[str]:
        return [item.id for item in (await directories[0].content(ContentRequest(**wanted))).items]  # type: ignore[arg-type]

    assert await found(topic="stress", kind="articles", language="fra") == ["a2", "a1"]
    assert await found(topic="stress", kind="videos") == ["v1"]
    assert await found(topic="astronomy") == []


async def test_loading_again_replaces_rows_and_keeps_sessions(directories: list[Directory]) -> None:
    here = directories[0]
    await here.book(wanting(1))

    await here.load(LoadRequest(experts=(AMARA.model_copy(update={"name": "Dr. A. Lind"}),), slots=SLOTS))

    overview = await here.overview(DirectoryRequest())
    assert [(session.slot_id, session.expert_name) for session in overview.sessions] == [("amara-0", "Dr. A. Lind")]
    assert overview.free == {"amara": 2}


async def test_a_directory_that_is_away_says_so() -> None:
    away = Directory(Catalogue(Record(f"postgresql://nobody@127.0.0.1:{free_port()}/none")))

    with pytest.raises(UnavailableError):
        await away.experts(ExpertsRequest())
