"""What the stages declare is what the facts' contract says."""

from __future__ import annotations

from cli.host.catalogue import stages
from shared.contracts.facts import FACTS, TERMINAL, QuestionAbandoned

Triples = set[tuple[str, str, str]]


def contract() -> Triples:
    """(stage, publishes or consumes, fact) as the facts have it."""
    says = {(stage, "publishes", name) for name, fact in FACTS.items() for stage in fact.published_by}
    return says | {(stage, "consumes", name) for name, fact in FACTS.items() for stage in fact.consumed_by}


def declared() -> Triples:
    """The same as the stages have it."""
    says = {(stage.name, "publishes", fact.__name__) for stage in stages() for fact in stage.published}
    hears = {
        (s.name, "consumes", fact.__name__)
        for s in stages()
        for subscription in s.subscriptions
        for fact in subscription.facts
    }
    return says | hears


def test_stages_declare_exactly_what_the_contract_gives_them() -> None:
    assert declared() == contract()


def test_no_fact_is_published_that_nobody_consumes() -> None:
    said = {fact for _, verb, fact in declared() if verb == "publishes"}
    heard = {fact for _, verb, fact in declared() if verb == "consumes"}

    assert said - heard == set()


def test_no_fact_is_consumed_that_nobody_publishes() -> None:
    heard = {fact for _, verb, fact in declared() if verb == "consumes"}
    said = {fact for _, verb, fact in declared() if verb == "publishes"}

    assert heard - said == set()


def test_a_fact_is_consumed_once_by_a_stage() -> None:
    """Two handlers for one fact would share a durable and steal each other's work."""
    for stage in stages():
        heard = [fact for subscription in stage.subscriptions for fact in subscription.facts]
        assert len(set(heard)) == len(heard), stage.name


def test_a_verb_is_answered_once_by_a_stage() -> None:
    for stage in stages():
        verbs = [answering.verb for answering in stage.request_handlers]
        assert len(set(verbs)) == len(verbs), stage.name


def test_every_stage_that_consumes_a_step_of_a_question_may_abandon_it() -> None:
    for stage in stages():
        steps = [f for h in stage.subscriptions for f in h.facts if not f.terminal and not f.out_of_band]
        if steps:
            assert QuestionAbandoned in stage.published, stage.name


def test_every_ending_is_recorded_as_soon_as_it_is_said() -> None:
    (persistence,) = (stage for stage in stages() if stage.name == "persistence")

    assert set(TERMINAL) <= {fact for subscription in persistence.subscriptions for fact in subscription.facts}
