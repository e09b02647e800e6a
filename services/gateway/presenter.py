"""From facts to what a client sees: the question's JSON and the frames of its stream. Pure.

Whatever a fact says, what leaves here is clean as `shared.text.sanitizer` has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from services.gateway.cursor import Cursor
from shared.contracts import facts
from shared.contracts.domain import Link
from shared.contracts.envelope import Envelope, Event
from shared.contracts.facts import Fact
from shared.contracts.payloads import EmergencyPayload
from shared.contracts.signals import Token
from shared.text.sanitizer import Cleaner, clean, cleaned

STATUS: dict[type[Fact], str] = {
    facts.QuestionAsked: "MODERATING_QUESTION",
    facts.QuestionApproved: "BUILDING_CONTEXT",
    facts.PassagesRetrieved: "GENERATING_ANSWER",
    facts.AnswerDrafted: "VERIFYING_CITATION",
    facts.AnswerRefuted: "BUILDING_CONTEXT",
    facts.ClarificationRequested: "NEED_CLARIFICATION",
    facts.QuestionAbandoned: "ERROR",
}
COMPLETE = "COMPLETE"
ERROR = "ERROR"


@dataclass(frozen=True)
class Frame:
    """One event of a stream; `id` is what the client sends back to resume after it, if anything."""

    event: str
    data: dict[str, Any]
    id: str = ""


def links(correlation_id: str) -> dict[str, str]:
    base = f"/api/v1/questions/{correlation_id}"
    return {"self": base, "events": f"{base}/events", "feedback": f"{base}/feedback"}


def question_json(event: Event[Fact]) -> dict[str, Any]:
    """The question as of its newest event: `{id, status, pipeline, conversation_id, links, result?}`."""
    body: dict[str, Any] = {
        "id": event.correlation_id,
        "status": status_of(event.payload),
        "pipeline": event.pipeline.model_dump(),
        "conversation_id": event.conversation_id,
        "links": links(event.correlation_id),
    }
    if event.payload.terminal:
        body["result"] = result_json(event)
    return body


def status_of(fact: Fact) -> str:
    known = STATUS.get(type(fact))
    if known:
        return known
    return COMPLETE if fact.terminal else "BUILDING_CONTEXT"


def result_json(event: Event[Fact]) -> dict[str, Any]:
    """How a question ended, in one shape for every ending."""
    fact = event.payload
    body: dict[str, Any] = {
        "outcome": OUTCOMES[type(fact)],
        "answer": _answer(fact),
        "citations": [],
        "confidence": 0.0,
        "context": {},
        "followups": [],
        "engine": "",
        "reused": None,
        "timings": timings(event),
        "usage": event.usage.model_dump() if event.model_calls else {},
    }
    if isinstance(fact, facts.AnswerVerified):
        body |= {
            "confidence": fact.confidence,
            "context": fact.context.model_dump() | {"language": fact.question.language},
            "followups": list(fact.followups),
            "engine": fact.engine,
            "tool_calls": list(fact.tool_calls),
            "usage": (event.usage if event.model_calls else fact.usage).model_dump(),
            "scores": fact.scores.model_dump() if fact.scores else None,
            "attempts": event.attempt + 1,
            "best_effort": fact.best_effort,
            "judged_by": fact.judged_by,
            "refuted": [refutation.model_dump() for refutation in fact.refuted],
        }
    if isinstance(fact, facts.AnswerVerified | facts.AnswerReused):
        body["citations"] = [citation.model_dump() for citation in fact.citations]
    if isinstance(fact, facts.AnswerReused):
        body |= {
            "confidence": fact.confidence,
            "context": {"language": fact.question.language},
            "followups": list(fact.followups),
            "engine": fact.engine,
            "reused": {"origin": fact.origin, "similarity": fact.similarity},
        }
    if isinstance(fact, facts.QuestionAbandoned):
        body["error"] = {"kind": fact.kind, "stage": fact.stage}
    if isinstance(fact, facts.QuestionRejected):
        body["rejection"] = {"kind": fact.kind, "reply": fact.reply}
    shown: dict[str, Any] = cleaned(body)
    return shown


OUTCOMES: dict[type[Fact], str] = {
    facts.AnswerVerified: "answered",
    facts.AnswerReused: "reused",
    facts.QuestionRejected: "rejected",
    facts.QuestionEscalated: "escalated",
    facts.ClarificationRequested: "clarification",
    facts.QuestionAbandoned: "abandoned",
    facts.QuestionWithdrawn: "withdrawn",
}


def _answer(fact: Fact) -> dict[str, Any]:
    if isinstance(fact, facts.AnswerVerified | facts.AnswerReused):
        return fact.answer.model_dump()
    content, kind = "", "refusal"
    further: tuple[Link, ...] = ()
    payload: dict[str, Any] | None = None
    if isinstance(fact, facts.QuestionRejected):
        content = fact.message if fact.reply else ""
        further = (fact.link,) if fact.link else ()
    elif isinstance(fact, facts.QuestionEscalated):
        content, kind, further = fact.message, "emergency", fact.resources
        payload = EmergencyPayload(resources=fact.resources).model_dump(mode="json")
    elif isinstance(fact, facts.ClarificationRequested):
        content, kind, payload = fact.clarification, "clarification", {"options": list(fact.options)}
    elif isinstance(fact, facts.QuestionAbandoned):
        content, further = fact.message, fact.links
    return {
        "content": content,
        "type": kind,
        "sentences": [],
        "payload": payload,
        "links": [link.model_dump() for link in further],
    }


def timings(event: Envelope) -> dict[str, Any]:
    """Milliseconds per stage, in the order they worked, and the whole from the first event to this one."""
    return {
        "stages": [timing.model_dump() for timing in event.timeline],
        "total_ms": round(sum(timing.waited_ms + timing.worked_ms for timing in event.timeline), 2),
    }


class Presenter:
    """Turns one question's facts and tokens into frames, each exactly once and in order.

    Tokens may come late, twice or never: the draft's own fact supplies what was not streamed, so the tokens a client
    puts together are always the whole draft. Feed facts in sequence order; those the cursor has read stay silent.
    Once an attempt's draft is known its tokens say nothing more, and the text of an older attempt is not shown again,
    unless the verdict chose it. A draft that was not streamed is shown with the verdict. Tokens that are not clean are
    not shown either; the draft brings the clean text.
    """

    def __init__(self, cursor: Cursor | None = None) -> None:
        self._cursor = cursor or Cursor()
        self._sequence = self._cursor.sequence if not self._cursor.frames else self._cursor.sequence - 1
        self._attempt = self._cursor.attempt
        #: Which beginning of the attempt is shown.
        self._beginning = self._cursor.draft
        self._offset = self._cursor.offset
        self._checksum = self._cursor.checksum
        self._cleaner: Cleaner | None = Cleaner()
        #: The newest attempt whose draft is known.
        self._drafted = -1
        self.ended = False

    def fact(self, event: Event[Fact], sequence: int) -> list[Frame]:
        """Frames of a fact; the last bears the fact's own sequence as id."""
        read = self._cursor.already_read(sequence)
        drafted = self._draft(event, read) if isinstance(event.payload, facts.AnswerDrafted) else []
        self.ended = self.ended or event.payload.terminal
        if read:
            return []
        self._sequence = sequence
        frames = self._frames(event)
        numbered = [
            replace(frame, id=self._position() if index == len(frames) else str(Cursor(sequence, frames=index)))
            for index, frame in enumerate(frames, start=1)
        ]
        if sequence == self._cursor.sequence:
            numbered = numbered[self._cursor.frames :]
        return drafted + numbered

    def token(self, token: Token) -> list[Frame]:
        """Frames of a token: none when it was seen, or when one before it is missing (the draft will bring it)."""
        if self.ended or token.attempt <= self._drafted:
            return []
        frames: list[Frame] = []
        place = (token.attempt, token.draft)
        if place > (self._attempt, self._beginning) and token.offset == 0:
            frames += self._reset(*place)
        end = token.offset + len(token.text)
        if place != (self._attempt, self._beginning) or token.offset > self._offset or end <= self._offset:
            return frames
        text = token.text[self._offset - token.offset :]
        if self._cleaner is None or self._cleaner.feed(text) != text:
            self._cleaner = None
            return frames
        return [*frames, self._token(text)]

    def _draft(self, event: Event[Fact], read: bool) -> list[Frame]:
        """What of the draft was not streamed yet."""
        assert isinstance(event.payload, facts.AnswerDrafted)
        frames: list[Frame] = []
        if event.attempt >= self._attempt and event.payload.streamed:
            frames = self._rest(event.payload.answer.content, event.attempt, read)
        self._drafted = max(self._drafted, event.attempt)
        return frames

    def _rest(self, content: str, attempt: int, read: bool) -> list[Frame]:
        content = clean(content)
        if read:
            self._attempt, self._offset, self._checksum = attempt, len(content), crc32(content.encode())
            return []
        shown = content[: self._offset]
        as_shown = attempt == self._attempt and len(shown) == self._offset and crc32(shown.encode()) == self._checksum
        frames = [] if as_shown else self._reset(attempt)
        if self._offset < len(content):
            frames.append(self._token(content[self._offset :]))
        return frames

    def _reset(self, attempt: int, beginning: int = 0) -> list[Frame]:
        had_text = self._offset > 0
        self._attempt, self._beginning, self._offset, self._checksum = attempt, beginning, 0, 0
        self._cleaner = Cleaner()
        return [Frame("reset", {"attempt": attempt}, self._position())] if had_text else []

    def _token(self, text: str) -> Frame:
        offset = self._offset
        self._offset += len(text)
        self._checksum = crc32(text.encode(), self._checksum)
        return Frame("token", {"attempt": self._attempt, "offset": offset, "text": text}, self._position())

    def _position(self) -> str:
        """The id of what was just said: a draft that is not known yet is read as far as it was streamed."""
        if self.ended or self._attempt <= self._drafted:
            return str(Cursor(self._sequence))
        return str(Cursor(self._sequence, 0, self._attempt, self._offset, self._checksum, self._beginning))

    def _frames(self, event: Event[Fact]) -> list[Frame]:
        fact = event.payload
        if fact.out_of_band:
            return []
        status = Frame(
            "status", {"status": status_of(fact), "stage": event.timeline[-1].stage if event.timeline else "gateway"}
        )
        if not fact.terminal:
            return [status] if type(fact) in STATUS else []
        frames: list[Frame] = []
        if isinstance(fact, facts.AnswerVerified) and self._drafted >= 0:
            # The best of several attempts may not be the last one, and a silent draft was not shown at all.
            frames += self._rest(fact.answer.content, event.attempt, read=False)
        if isinstance(fact, facts.AnswerVerified | facts.AnswerReused):
            frames += [Frame("citation", cleaned(citation.model_dump())) for citation in fact.citations]
        if isinstance(fact, facts.AnswerVerified | facts.AnswerReused) and fact.followups:
            frames.append(Frame("followups", {"questions": cleaned(fact.followups)}))
        return [*frames, status, Frame("result", question_json(event))]


def overdue(correlation_id: str, conversation_id: str) -> list[Frame]:
    """What a client gets when its deadline has passed and no stage has said so yet; it has no id, as it is no fact."""
    message = "No answer came within the time allowed. Please try again."
    result = {
        "id": correlation_id,
        "status": ERROR,
        "conversation_id": conversation_id,
        "links": links(correlation_id),
        "result": {
            "outcome": "abandoned",
            "answer": {"content": message, "type": "refusal", "sentences": [], "payload": None, "links": []},
            "citations": [],
            "confidence": 0.0,
            "context": {},
            "followups": [],
            "engine": "",
            "reused": None,
            "timings": {"stages": [], "total_ms": 0.0},
            "usage": {},
            "error": {"kind": "deadline", "stage": "gateway"},
        },
    }
    return [Frame("status", {"status": ERROR, "stage": "gateway"}), Frame("result", result)]
