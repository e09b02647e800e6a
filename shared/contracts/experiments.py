"""Experiments that split the live questions of a pipeline among arms: their state, and who gets which arm. Pure.

The state is one value of the key-value bucket `experiments`, which gateways and persistence read.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

from pydantic import Field, TypeAdapter

from shared.contracts.domain import PipelineRef, Value
from shared.contracts.tenants import DEFAULT_TENANT

#: How an experiment stands: `halted` by the platform, `stopped` or `promoted` by an operator.
ExperimentStatus = Literal["running", "halted", "stopped", "promoted"]
#: What halts an experiment: the measure of a guard, or `changed`, another revision of the live pipeline.
GuardName = Literal["errors", "refutations", "slow", "thumbs_down", "changed"]
#: By what an arm is kept: the user, where one is known, or the conversation.
StickyBy = Literal["user", "conversation"]
#: What questions are told apart by: `class` is that of routing, `source` one that the answer cites.
SegmentName = Literal["language", "class", "department", "source"]
#: What a name may be: it is part of a metric, of paths and of columns.
NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,59}$"


class Assignment(Value):
    """The experiment that a question belongs to, and the arm that answers it."""

    experiment: str
    arm: str


class SplitArm(Value):
    """One arm: its name, the revision of a pipeline that answers, and its part of the questions (0 to 1)."""

    name: str
    pipeline: PipelineRef
    share: float = Field(ge=0)


class ArmFigures(Value):
    """What is on record of an arm; questions that were reused from a cache or withdrawn are not counted.

    `errors` were abandoned, `refutations` needed more than one attempt, `slow` took longer than the experiment's
    limit, `thumbs_down` were rated down. Times are in milliseconds.
    """

    arm: str
    questions: int = 0
    errors: int = 0
    refutations: int = 0
    slow: int = 0
    thumbs_down: int = 0
    mean_ms: float = 0.0
    p95_ms: float = 0.0


class SplitFigures(Value):
    """The figures of all arms when they were counted last; `limit_ms` (0: not known yet) is what counts as slow."""

    limit_ms: float = 0.0
    arms: tuple[ArmFigures, ...] = ()
    at: datetime | None = None


class SegmentFigures(Value):
    """The arms' questions of one language, class, department or cited source (`value`); `p95_ms` is not counted."""

    segment: SegmentName
    value: str
    arms: tuple[ArmFigures, ...] = ()


class Experiment(Value):
    """A split of the live questions of `pipeline`; the first arm is the live pipeline itself.

    `slower`: how many times the live pipeline's 95th percentile a candidate's may be (0: any). `ended_by` names the
    operator who ended it; `reason` says why it ended. `tenant` is that of who started it, in whose record its ending
    is. `revision` is that of the live pipeline after a promotion. `announced`: its ending is on the log.
    """

    id: str
    name: str
    pipeline: str
    arms: tuple[SplitArm, ...]
    sticky: StickyBy = "user"
    slower: float = 1.5
    status: ExperimentStatus = "running"
    started_at: datetime
    started_by: str = ""
    tenant: str = DEFAULT_TENANT
    ended_at: datetime | None = None
    ended_by: str = ""
    guard: GuardName | Literal[""] = ""
    reason: str = ""
    arm: str = ""
    revision: int = 0
    figures: SplitFigures = SplitFigures()
    announced: bool = False

    @property
    def runs(self) -> bool:
        return self.status == "running"

    @property
    def to_announce(self) -> bool:
        """Whether its ending is not on the log yet; a promotion is one once the pipeline's new revision is known."""
        return not (self.runs or self.announced or (self.status == "promoted" and not self.revision))

    @property
    def live(self) -> SplitArm:
        return self.arms[0]

    def arm_for(self, unit: str) -> SplitArm:
        """The arm of a user or conversation: always the same one, and each arm gets its share of them."""
        digest = hashlib.sha256(f"{self.id} {unit}".encode("utf-8", "surrogatepass")).digest()
        drawn = int.from_bytes(digest[:8], "big") / 2**64
        reached = 0.0
        for arm in self.arms:
            reached += arm.share
            if drawn < reached:
                return arm
        return self.arms[0]


_LIST = TypeAdapter(tuple[Experiment, ...])


def decode_experiments(value: bytes | None) -> tuple[Experiment, ...]:
    """The experiments of a stored value, the newest first.

    Raises:
        ValueError: it is no list of experiments.
    """
    return _LIST.validate_json(value) if value else ()


def encode_experiments(experiments: tuple[Experiment, ...]) -> bytes:
    return _LIST.dump_json(experiments)
