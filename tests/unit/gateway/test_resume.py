"""Wherever a stream is cut and whatever became of its tokens, a client puts the same run together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.streaming.cursor import StreamCursor
from services.gateway.streaming.presenter import QuestionPresenter
from services.gateway.streaming.stream import Frame
from shared.bus.ports import StoredEvent
from shared.contracts.signals import Token
from tests.unit.gateway.harness import last_id, read, run, signal, stored

WORDS = st.text(alphabet="aé 水.", min_size=0, max_size=8)


@dataclass(frozen=True)
class Feed:
    """What a gateway hears of one question, in the order in which it hears it."""

    received: tuple[StoredEvent, ...]
    answer: str

    def frames(self, cursor: str = "", *, after: int = -1, deaf: frozenset[int] = frozenset()) -> list[list[Frame]]:
        """The frames of each thing heard; tokens up to place `after`, and those at the places in `deaf`, are not."""
        presenter = QuestionPresenter(StreamCursor.parse(cursor) if cursor else None)
        return [self._show(presenter, one, at > after and at not in deaf) for at, one in enumerate(self.received)]

    def _show(self, presenter: QuestionPresenter, one: StoredEvent, audible: bool) -> list[Frame]:
        if one.sequence:
            return presenter.fact(one.decode(), one.sequence)
        return presenter.token(Token.model_validate_json(one.data)) if audible else []


@st.composite
def feeds(draw: st.DrawFn) -> Feed:
    """A run of one to three attempts; its tokens are lost, doubled, late, early, or of another text than the draft."""
    drafts = draw(st.lists(WORDS, min_size=1, max_size=3))
    received = stored(run(*drafts))
    for attempt, content in enumerate(drafts):
        spoken = draw(st.one_of(st.just(content), WORDS))
        for beginning in range(draw(st.integers(1, 2))):
            offset = 0
            while offset < len(spoken):
                size = draw(st.integers(1, 4))
                piece = spoken[offset : offset + size]
                token = Token(attempt=attempt, draft=beginning, offset=offset, text=piece)
                offset += size
                for _ in range(draw(st.sampled_from((1, 1, 1, 0, 2)))):
                    received.insert(draw(st.integers(0, len(received))), signal(token))
            spoken = draw(st.one_of(st.just(content), WORDS))
    return Feed(tuple(received), drafts[-1])


@st.composite
def tidy_feeds(draw: st.DrawFn) -> Feed:
    """A run whose tokens come one after another, between the passages and the draft."""
    drafts = draw(st.lists(WORDS, min_size=1, max_size=3))
    received: list[StoredEvent] = []
    for one in stored(run(*drafts)):
        event = one.decode()
        if event.fact == "AnswerDrafted":
            content = drafts[event.attempt]
            for beginning in range(draw(st.integers(1, 3))):
                tokens = [
                    Token(attempt=event.attempt, draft=7 * beginning, offset=at, text=letter)
                    for at, letter in enumerate(content)
                ]
                received += [signal(token) for token in tokens[: draw(st.integers(0, len(tokens)))]]
        received.append(one)
    return Feed(tuple(received), drafts[-1])


def flat(received: list[list[Frame]]) -> list[Frame]:
    return [frame for frames in received for frame in frames]


def others(frames: list[Frame]) -> list[tuple[str, Any]]:
    """Every event that is not about the draft's text."""
    return [(frame.event, frame.data) for frame in frames if frame.event not in ("token", "reset")]


def place_of(received: list[list[Frame]], number: int) -> int:
    """Which of the things heard gave the frame of that number."""
    seen = 0
    for place, frames in enumerate(received):
        seen += len(frames)
        if number < seen:
            return place
    return len(received)


@given(st.one_of(feeds(), tidy_feeds()))
def test_the_text_put_together_is_the_draft_whatever_became_of_the_tokens(feed: Feed) -> None:
    frames = flat(feed.frames())

    assert read(frames).text == feed.answer
    assert others(frames) == others(flat(feed.frames(after=len(feed.received))))


@given(st.one_of(feeds(), tidy_feeds()))
def test_resuming_from_any_frame_gives_exactly_the_remaining_ones(feed: Feed) -> None:
    received = feed.frames()
    whole = flat(received)
    for number, frame in enumerate(whole):
        if frame.event == "reset":
            continue  # the token that came with it is heard once: the draft brings its text in another piece

        resumed = flat(feed.frames(frame.id, after=place_of(received, number)))

        assert resumed == whole[number + 1 :]


@given(st.one_of(feeds(), tidy_feeds()), st.data())
def test_a_client_cut_off_anywhere_puts_the_whole_together_whichever_tokens_it_hears(
    feed: Feed, data: st.DataObject
) -> None:
    received = feed.frames(deaf=data.draw(_places(feed)))
    whole = flat(received)
    cut = data.draw(st.integers(0, len(whole)))

    # The history is read before anything live is heard.
    after = data.draw(st.integers(place_of(received, cut - 1) if cut else -1, len(feed.received)))
    resumed = flat(feed.frames(last_id(whole[:cut]), after=after, deaf=data.draw(_places(feed))))

    assert others(whole[:cut]) + others(resumed) == others(whole)
    if cut == len(whole):
        assert resumed == []
        return
    before = whole[:cut] if last_id(whole[:cut]) else []
    assert read(resumed, read(before)).text == feed.answer


def _places(feed: Feed) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(0, len(feed.received) - 1))
