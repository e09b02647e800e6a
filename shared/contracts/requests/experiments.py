"""Requests to persistence about experiments: `ask.persistence.split_report` and `.split_pairs`."""

from __future__ import annotations

from typing import Literal

from shared.contracts.domain import Value
from shared.contracts.experiments import Experiment, SegmentFigures
from shared.contracts.outcome import OutcomeName
from shared.contracts.requests.quality import ComparedSide
from shared.contracts.requests.request import Request
from shared.contracts.requests.reviews import ReviewPair
from shared.contracts.tenants import DEFAULT_TENANT

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


class SplitPairsReply(Value):
    """Questions of the same words and language that the live arm and a candidate have answered, by their ids.

    Of each arm it is the first answer to these words; the pairs of the earliest questions come first. Neither arm
    chose them: they are the questions that are asked often, and no random sample.
    """

    pairs: tuple[ReviewPair, ...] = ()


class SplitPairsRequest(Request[SplitPairsReply]):
    """The pairs of a candidate's arm, among the newest questions of each arm in this tenant."""

    stage = "persistence"
    verb = "split_pairs"

    tenant: str = DEFAULT_TENANT
    experiment: Experiment
    arm: str
