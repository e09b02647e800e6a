"""What may be asked of moderation: `ask.moderation.<verb>` with the request named like the verb."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.contracts.domain import Finding, PipelineRef, Value
from shared.contracts.requests.request import Request


class PrivateSpan(Value):
    """Private data of a kind, from character `start` to before `end` of the tidied text."""

    kind: str
    start: int
    end: int


class InspectReply(Value):
    """`outcome` is `approved`, `escalated` or the kind of the rejection; `text` is as it would go on, redacted."""

    outcome: str
    text: str
    findings: tuple[Finding, ...] = ()
    private: tuple[PrivateSpan, ...] = ()
    took_ms: float = 0.0


class InspectRequest(Request[InspectReply]):
    """`inspect`: what the rules make of a text, without a question being run.

    `pipeline` names whose settings apply; empty: the default's. With `with_model`, the steps of a model that the
    pipeline turns on are taken too (guardrails are not).
    """

    stage = "moderation"
    verb = "inspect"

    text: str = Field(max_length=200_000)
    language_hint: str = ""
    pipeline: str = ""
    with_model: bool = False


class GuardAnswerReply(Value):
    """Whether the answer may not be given, and why: a flow stops it, or nobody can tell and the pipeline fails closed.

    `away` says that the rails could not judge, whatever follows from it. A pipeline without output flows objects to
    nothing.
    """

    objection: bool = False
    kind: Literal["", "guardrail", "unavailable"] = ""
    away: bool = False


class GuardAnswerRequest(Request[GuardAnswerReply]):
    """`guard_answer`: whether the output flows of the pipeline's guardrails stop an answer, said within `seconds`.

    `pipeline` is the revision that the question is answered by; `answer` is everything that its asker would read.
    """

    stage = "moderation"
    verb = "guard_answer"

    pipeline: PipelineRef
    question: str
    answer: str
    seconds: float = Field(ge=0)
