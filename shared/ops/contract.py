"""The contract as the generated documents read it: declarations by fact, and what is reserved for later."""

from __future__ import annotations

from dataclasses import dataclass

from shared import subjects
from shared.domain import Lane
from shared.facts import FACTS, Fact
from shared.ops.catalogue import stages
from shared.reserved import RESERVED
from shared.settings import Settings
from shared.stage import Hearing, Stage

CID = "{correlation_id}"
NUMBER = "{number}"


@dataclass(frozen=True)
class Contract:
    """The stages in flow order and every fact; `reserved_*` are (stage, fact) pairs that wait for their code."""

    stages: tuple[Stage, ...]
    facts: tuple[type[Fact], ...]
    reserved_says: frozenset[tuple[str, str]]
    reserved_hears: frozenset[tuple[str, str]]

    def sayers(self, fact: type[Fact]) -> list[str]:
        return [stage.name for stage in self.stages if fact in stage.said]

    def hearers(self, fact: type[Fact]) -> list[str]:
        return [stage.name for stage in self.stages if any(fact in hearing.facts for hearing in stage.hearings)]

    def later_sayers(self, fact: type[Fact]) -> list[str]:
        return [stage.name for stage in self.stages if (stage.name, fact.__name__) in self.reserved_says]

    def later_hearers(self, fact: type[Fact]) -> list[str]:
        return [stage.name for stage in self.stages if (stage.name, fact.__name__) in self.reserved_hears]


def read_contract() -> Contract:
    """The contract of this code; the process's environment does not matter."""
    return Contract(
        stages=tuple(stages(Settings.model_construct())),
        facts=tuple(FACTS.values()),
        reserved_says=_reserved("says"),
        reserved_hears=_reserved("hears"),
    )


def _reserved(verb: str) -> frozenset[tuple[str, str]]:
    return frozenset((stage, fact) for (stage, does), facts in RESERVED.items() if does == verb for fact in facts)


def address(fact: type[Fact], lane: Lane = Lane.LIVE) -> str:
    """The subject with its variable parts in braces: `qa.question.asked.{correlation_id}.{number}`."""
    return subjects.event(fact, lane, CID, 0).removesuffix(".0") + ("" if fact.terminal else f".{NUMBER}")


def durables(hearing: Hearing) -> list[str]:
    """The names of a hearing's durables, one per lane."""
    return [hearing.durable(lane) for lane in Lane]


def sentence(documented: object) -> str:
    """A docstring as one line."""
    return " ".join((documented.__doc__ or "").split())
