"""What the stages declare is what the facts' contract says, less exactly what is reserved."""

from __future__ import annotations

from shared.facts import FACTS, TERMINAL, QuestionAbandoned
from shared.ops.catalogue import STAGES, stages
from shared.reserved import RESERVED

Triples = set[tuple[str, str, str]]


def contract() -> Triples:
    """(stage, says or hears, fact) as the facts have it."""
    says = {(stage, "says", name) for name, fact in FACTS.items() for stage in fact.said_by}
    return says | {(stage, "hears", name) for name, fact in FACTS.items() for stage in fact.heard_by}


def declared() -> Triples:
    """The same as the stages have it."""
    says = {(stage.name, "says", fact.__name__) for stage in stages() for fact in stage.said}
    hears = {(s.name, "hears", fact.__name__) for s in stages() for hearing in s.hearings for fact in hearing.facts}
    return says | hears


def reserved() -> Triples:
    return {(stage, verb, fact) for (stage, verb), facts in RESERVED.items() for fact in facts}


def test_no_stage_declares_what_the_contract_does_not_give_it() -> None:
    assert declared() - contract() == set()


def test_reserved_is_exactly_what_no_stage_declares_yet() -> None:
    """Too little: a part of the contract was lost. Too much: it was built, and can leave the list."""
    assert reserved() == contract() - declared()


def test_reserved_is_listed_once_and_in_the_order_of_the_flow() -> None:
    assert sum(len(facts) for facts in RESERVED.values()) == len(reserved())
    assert [stage for stage, _ in RESERVED] == sorted((stage for stage, _ in RESERVED), key=STAGES.index)
    assert all(facts for facts in RESERVED.values())


def test_no_fact_is_said_that_nobody_hears() -> None:
    said = {fact for _, verb, fact in declared() if verb == "says"}
    heard = {fact for _, verb, fact in declared() | reserved() if verb == "hears"}

    assert said - heard == set()


def test_no_fact_is_heard_that_nobody_says() -> None:
    heard = {fact for _, verb, fact in declared() if verb == "hears"}
    said = {fact for _, verb, fact in declared() | reserved() if verb == "says"}

    assert heard - said == set()


def test_a_fact_is_heard_once_by_a_stage() -> None:
    """Two handlers for one fact would share a durable and steal each other's work."""
    for stage in stages():
        heard = [fact for hearing in stage.hearings for fact in hearing.facts]
        assert len(set(heard)) == len(heard), stage.name


def test_a_verb_is_answered_once_by_a_stage() -> None:
    for stage in stages():
        verbs = [answering.verb for answering in stage.answerings]
        assert len(set(verbs)) == len(verbs), stage.name


def test_every_stage_that_hears_a_step_of_a_question_may_abandon_it() -> None:
    for stage in stages():
        steps = [f for h in stage.hearings for f in h.facts if not f.terminal and not f.aside]
        if steps:
            assert QuestionAbandoned in stage.said, stage.name


def test_every_ending_is_recorded_as_soon_as_it_is_said() -> None:
    (persistence,) = (stage for stage in stages() if stage.name == "persistence")

    assert set(TERMINAL) <= {fact for hearing in persistence.hearings for fact in hearing.facts}
