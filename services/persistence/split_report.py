"""Replies with what is on record of a split: segments, cost and latency of the arms, examples, pairs of same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from services.persistence.experiment_monitor import ArmCounter
from services.persistence.ports import ComparedExchange
from services.persistence.quality import same_words, side_of
from shared.contracts.experiments import Experiment
from shared.contracts.outcome import OUTCOMES
from shared.contracts.requests.experiments import (
    ExampleReason,
    SplitExample,
    SplitPairsReply,
    SplitPairsRequest,
    SplitReportReply,
    SplitReportRequest,
    SplitSide,
)
from shared.contracts.requests.quality import MOST_COMPARED, PipelineSide
from shared.contracts.requests.reviews import ReviewPair
from shared.text.excerpts import clipped

#: Examples of each candidate and direction, characters of an answer there, and durations of each arm.
EXAMPLES, ANSWER_CHARS, TIMES = 5, 1000, 500


class ArmReader(ArmCounter, Protocol):
    """Reads the arms of an experiment; raises `UnavailableError` if the database is unavailable."""

    async def newest_of_arm(
        self, experiment: Experiment, arm: str, limit: int, *, tenant: str = ""
    ) -> Sequence[ComparedExchange]:
        """Up to `limit` counted questions of the arm (of this tenant; empty: of all), newest first."""

    async def answer_texts(self, ids: Sequence[str]) -> dict[str, str]:
        """The answers of these questions, by id."""


class SplitReports:
    """Replies from the record."""

    def __init__(self, arms: ArmReader) -> None:
        self._arms = arms

    async def split_report(self, request: SplitReportRequest) -> SplitReportReply:
        experiment = request.experiment
        segments = await self._arms.count_segments(experiment)
        found = {
            arm.name: await self._arms.newest_of_arm(experiment, arm.name, MOST_COMPARED + 1) for arm in experiment.arms
        }
        sides = []
        for arm in experiment.arms:
            of = PipelineSide(pipeline=arm.pipeline.name, revision=arm.pipeline.revision)
            times = tuple(round(one.elapsed_ms, 1) for one in found[arm.name][:TIMES])
            told = side_of(of, found[arm.name]).model_dump()
            sides.append(SplitSide(**told, arm=arm.name, times=times))
        live, *candidates = (arm.name for arm in experiment.arms)
        examples = [one for name in candidates for one in _examples(name, found[name], found[live])]
        texts = await self._arms.answer_texts([id_ for one in examples for id_ in (one.id, one.live_id) if id_])
        return SplitReportReply(
            segments=tuple(segments), sides=tuple(sides), examples=tuple(_with_texts(one, texts) for one in examples)
        )

    async def split_pairs(self, request: SplitPairsRequest) -> SplitPairsReply:
        """The first answers come first, so that further questions of the same words do not change a pair."""
        live, candidate = [
            [one for one in reversed(found) if OUTCOMES[one.outcome].has_answer]
            for found in [
                await self._arms.newest_of_arm(request.experiment, arm, MOST_COMPARED, tenant=request.tenant)
                for arm in (request.experiment.live.name, request.arm)
            ]
        ]
        found = same_words(live, candidate)
        return SplitPairsReply(pairs=tuple(ReviewPair(live=one.id, shadow=other.id) for one, other in found))


def _examples(arm: str, candidate: Sequence[ComparedExchange], live: Sequence[ComparedExchange]) -> list[SplitExample]:
    """Questions of the same words first, the largest difference first; then how others ended or were rated."""
    pairs = [(gain(one, other), one, other) for other, one in same_words(live, candidate)]
    found = []
    for better in (True, False):
        sign = 1 if better else -1
        ordered = sorted((one for one in pairs if sign * one[0] > 0), key=lambda one: -sign * one[0])
        told = [_paired(arm, one, other, better=better) for _, one, other in ordered[:EXAMPLES]]
        known = {one.id for one in told}
        others = (one for one in _alone(arm, candidate, better=better) if one.id not in known)
        found += [*told, *(one for _, one in zip(range(EXAMPLES - len(told)), others, strict=False))]
    return found


def _paired(arm: str, one: ComparedExchange, other: ComparedExchange, *, better: bool) -> SplitExample:
    return SplitExample(
        arm=arm,
        better=better,
        reason="same_words",
        question=one.question,
        id=one.id,
        outcome=one.outcome,
        live_id=other.id,
        live_outcome=other.outcome,
    )


def _alone(arm: str, candidate: Sequence[ComparedExchange], *, better: bool) -> Iterator[SplitExample]:
    """The candidate's questions that were rated so, or abandoned, the newest first."""
    for one in candidate:
        reason: ExampleReason | None = None
        if better:
            reason = "rated_up" if one.up and not one.down else None
        elif one.outcome == "abandoned" or one.down:
            reason = "rated_down" if one.down else "abandoned"
        if reason:
            yield SplitExample(
                arm=arm, better=better, reason=reason, question=one.question, id=one.id, outcome=one.outcome
            )


def gain(candidate: ComparedExchange, live: ComparedExchange) -> float:
    """How much better the candidate's answer is: an answer instead of none counts 1, else the overall scores."""
    gained = float(OUTCOMES[candidate.outcome].has_answer) - float(OUTCOMES[live.outcome].has_answer)
    scores = [one.evaluation or one.scores for one in (candidate, live)]
    if gained or scores[0] is None or scores[1] is None:
        return gained
    return scores[0].overall - scores[1].overall


def _with_texts(example: SplitExample, texts: dict[str, str]) -> SplitExample:
    ids = {"answer": example.id, "live_answer": example.live_id}
    return example.model_copy(update={name: clipped(texts.get(id_, ""), ANSWER_CHARS) for name, id_ in ids.items()})
