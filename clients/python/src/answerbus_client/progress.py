"""How far a stream was read, whatever carries it: frames in, events out, and where and when to go on after a cut."""

from __future__ import annotations

from answerbus_client.errors import AnswerbusError, ResponseError, StreamInterruptedError
from answerbus_client.events import ResetEvent, ResultEvent, StreamEvent, TokenEvent, event_of
from answerbus_client.questions import Question
from answerbus_client.requests import pause_before
from answerbus_client.sse import FrameParser

#: Connections in a row that may bring nothing new.
MOST_FAILURES = 10


class StreamProgress:
    """The state of one question's stream over all its connections.

    `text` is the draft as it is now; after the end it is the text of the answer. `question` is set by the result.
    """

    def __init__(self, last_event_id: str = "") -> None:
        self.last_event_id = last_event_id
        self.text = ""
        self.question: Question | None = None
        self._parser = FrameParser()
        self._failures = 0
        self._retry = 1.0

    @property
    def ended(self) -> bool:
        return self.question is not None

    @property
    def headers(self) -> dict[str, str]:
        """Of the next connection."""
        going_on = {"Last-Event-ID": self.last_event_id} if self.last_event_id else {}
        return {"Accept": "text/event-stream", **going_on}

    def connected(self) -> None:
        """A connection is open: what the last one left incomplete is sent again in full."""
        self._parser = FrameParser()

    def feed(self, part: bytes) -> list[StreamEvent]:
        """The events that `part` completes.

        Raises:
            AnswerbusError: this is not a stream of Answerbus.
        """
        events = []
        try:
            for frame in self._parser.feed(part):
                self._retry = frame.retry if frame.retry is not None else self._retry
                event = event_of(frame.event, frame.data) if frame.data is not None else None
                if event is not None:
                    self._take(event)
                    events.append(event)
                # Only now: an event counts as read once it can be given.
                self.last_event_id = frame.id or self.last_event_id
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AnswerbusError(f"the stream has an event that cannot be read: {error!r}") from error
        return events

    def pause(self, error: Exception | None) -> float:
        """Seconds before the next connection, after one that ended without the result.

        Raises:
            StreamInterruptedError: as many connections in a row as allowed brought nothing.
            AnswerbusError: the server refuses, and would again.
        """
        self._failures += 1
        if self._failures > MOST_FAILURES:
            message = f"the stream could not be resumed in {MOST_FAILURES} attempts: {error or 'it was closed'}"
            raise StreamInterruptedError(message, self.last_event_id) from error
        pause = pause_before(self._failures, error)
        if pause is None:
            assert error is not None
            raise error
        # A connection that was cut once may be back at once; the stream says how soon clients may try.
        cut = self._failures == 1 and not isinstance(error, ResponseError)
        return min(pause, self._retry) if cut else pause

    def _take(self, event: StreamEvent) -> None:
        self._failures = 0
        match event:
            case TokenEvent():
                self.text = self.text[: event.offset] + event.text
            case ResetEvent():
                self.text = ""
            case ResultEvent():
                self.question = event.question
                self.text = event.question.text
