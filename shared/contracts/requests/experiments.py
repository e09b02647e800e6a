"""Requests to persistence about experiments: `ask.persistence.split_report`."""

from __future__ import annotations

from typing import Literal

from shared.contracts.domain import Value
from shared.contracts.experiments import Experiment, SegmentFigures
from shared.contracts.outcome import OutcomeName
from shared.contracts.requests.quality import ComparedSide
from shared.contracts.requests.request import Request

#: Why a question is an example: both arms were asked the same words, or how it ended or was rated.
ExampleReason = Literal["same_words", "abandoned", "rated_up", "rated_down"]


class SplitSide(ComparedSide):
    """What an arm answered: the newest of its questions; `times` are those of the newest, in milliseconds."""

    arm: str
    times: tuple[float, ...] = ()


class SplitExample(Value):
    """A question for which a candidate was better or worse.

    With the reason `same_words`, the `live_…` fields are those of the live pipeline's answer to the same words.
    """

    arm: str
    better: bool
    reason: ExampleReason
    question: str
    id: str
    outcome: OutcomeName
    answer: str = ""
    live_id: str = ""
    live_outcome: OutcomeName | Literal[""] = ""
    live_answer: str = ""


class SplitReportReply(Value):
    """The arms by segment, what each of them answered, in the order of the experiment, and examples."""

    segments: tuple[SegmentFigures, ...] = ()
    sides: tuple[SplitSide, ...] = ()
    examples: tuple[SplitExample, ...] = ()


class SplitReportRequest(Request[SplitReportReply]):
    """What is on record of a split."""

    stage = "persistence"
    verb = "split_report"

    experiment: Experiment
