"""Who comes while a draft is being written reads it from its beginning, and then along."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.streaming.cursor import StreamCursor
from services.gateway.streaming.drafts import CHARS, DRAFTS, Drafts
from services.gateway.streaming.presenter import QuestionPresenter
from services.gateway.streaming.stream import QuestionStream
from shared.contracts.facts import AnswerDrafted
from shared.contracts.signals import Token
from tests.unit.gateway.harness import CID, RunningGateway, read, run, running_gateway, signal
from tests.unit.gateway.lossy_feed import each

EVENTS = run("At eight or nine.")


async def test_a_reader_who_comes_in_the_middle_of_a_draft_gets_it_from_its_beginning() -> None:
    async with running_gateway() as here:
        await here.publish(*EVENTS[:4])
        for offset, text in ((0, "At "), (3, "eight ")):
            signal_token(here, Token(attempt=0, draft=7, offset=offset, text=text))

        frames = each(QuestionStream(here.gateway.feed, here.bus.log, CID, QuestionPresenter()))
        shown = [await anext(frames) for _ in range(4)]
        signal_token(here, Token(attempt=0, draft=7, offset=9, text="or"))
        shown.append(await anext(frames))
        await frames.aclose()

    assert [frame.data["text"] for frame in shown if frame.event == "token"] == ["At eight ", "or"]


async def test_who_resumes_in_the_middle_of_a_draft_gets_the_rest_and_then_reads_along() -> None:
    async with running_gateway() as here:
        await here.publish(*EVENTS[:4])
        signal_token(here, Token(attempt=0, draft=7, offset=0, text="At "))
        frames = each(QuestionStream(here.gateway.feed, here.bus.log, CID, QuestionPresenter()))
        before = [await anext(frames) for _ in range(4)]
        await frames.aclose()
        signal_token(here, Token(attempt=0, draft=7, offset=3, text="eight "))

        resumed = each(
            QuestionStream(here.gateway.feed, here.bus.log, CID, QuestionPresenter(StreamCursor.parse(before[-1].id)))
        )
        first = await asyncio.wait_for(anext(resumed), 5)
        await here.publish(*EVENTS[4:])
        rest = [frame async for frame in resumed]

    assert first.data["text"] == "eight "
    assert read([*before, first, *rest]).text == "At eight or nine."


async def test_a_draft_is_forgotten_when_its_question_has_ended() -> None:
    async with running_gateway() as here:
        signal_token(here, Token(attempt=0, offset=0, text="At "))
        await here.publish(*EVENTS[:-1])
        assert len(here.gateway.feed.drafts) == 1

        await here.publish(EVENTS[-1])

        assert len(here.gateway.feed.drafts) == 0


async def test_a_draft_whose_fact_is_stored_is_not_shown_again() -> None:
    async with running_gateway() as here:
        signal_token(here, Token(attempt=0, draft=7, offset=0, text="At eight or nine."))
        await here.publish(*EVENTS[:5])
        assert isinstance(EVENTS[4].payload, AnswerDrafted)

        frames = each(QuestionStream(here.gateway.feed, here.bus.log, CID, QuestionPresenter()))
        shown = [await anext(frames)]
        await here.publish(*EVENTS[5:])
        shown += [frame async for frame in frames]

    assert read(shown).text == "At eight or nine."


def test_a_draft_with_a_gap_or_without_its_beginning_is_not_kept() -> None:
    drafts = Drafts()
    drafts.add(CID, Token(attempt=0, offset=3, text="eight"))
    assert drafts.written(CID) is None

    drafts.add(CID, Token(attempt=0, offset=0, text="At "))
    drafts.add(CID, Token(attempt=0, offset=9, text="or"))
    assert drafts.written(CID) is None


def test_the_newest_beginning_replaces_the_one_before() -> None:
    drafts = Drafts()
    drafts.add(CID, Token(attempt=0, draft=3, offset=0, text="Around"))
    drafts.add(CID, Token(attempt=0, draft=9, offset=0, text="At"))
    drafts.add(CID, Token(attempt=0, draft=3, offset=6, text=" noon"))

    assert drafts.written(CID) == Token(attempt=0, draft=9, offset=0, text="At")


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=10))
def test_the_tokens_put_together_are_the_draft_so_far(pieces: list[str]) -> None:
    drafts = Drafts()
    text = ""
    for piece in pieces:
        drafts.add(CID, Token(attempt=1, draft=2, offset=len(text), text=piece))
        drafts.add(CID, Token(attempt=1, draft=2, offset=len(text), text=piece))
        text += piece
        assert drafts.written(CID) == Token(attempt=1, draft=2, offset=0, text=text)


def test_memory_of_drafts_is_bounded() -> None:
    drafts = Drafts()
    for number in range(DRAFTS + 5):
        drafts.add(f"{number:032x}", Token(attempt=0, offset=0, text="x"))
    drafts.add(CID, Token(attempt=0, offset=0, text="x" * (CHARS + 1)))

    assert len(drafts) <= DRAFTS
    assert drafts.written(CID) is None


def signal_token(here: RunningGateway, token: Token) -> None:
    event = signal(token)
    here.bus.log.signal(event.subject, event)
