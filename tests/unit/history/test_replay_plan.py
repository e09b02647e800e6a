"""What is said again, what may be changed of it, and what counts as the same."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.domain import Answer, Lane, Passage, PipelineRef, Question, Scores, Timing
from shared.contracts.envelope import Event, following, opening
from shared.contracts.errors import NotFoundError, PipelineError, RefusedError
from shared.contracts.facts import (
    AnswerDrafted,
    AnswerVerified,
    Fact,
    PassagesRetrieved,
    QuestionApproved,
    QuestionAsked,
    QuestionCleared,
    QuestionRejected,
)
from shared.contracts.pipelines import Pipeline
from shared.history.diff import difference
from shared.history.replay_plan import again, differing, edited, essences, is_shortened, starting_point
from shared.runtime.pipelines import with_setting

PIPELINE = PipelineRef(name="default", revision=3)
QUESTION = Question(text="How much is it?")


def run(
    *, text: str = "It is forty euros.", found: str = "a", took: float = 1.0, score: float = 0.9
) -> list[Event[Fact]]:
    """A question answered at the first attempt."""
    asked = opening("gateway", QuestionAsked(text="How much is it?"), pipeline=PIPELINE, deadline_seconds=30)
    passage = Passage(id=found, source=f"kb:{found}.md", text=text, score=score)
    scores = Scores(groundedness=score, relevancy=score, completeness=score, overall=score)
    published: list[tuple[str, Fact]] = [
        ("moderation", QuestionApproved(question=QUESTION)),
        ("translation", QuestionCleared(question=QUESTION)),
        (
            "retrieval",
            PassagesRetrieved.model_validate(
                {"question": QUESTION, "passages": [passage], "context": {"trace": {"took_ms": took}}}
            ),
        ),
        ("answer", AnswerDrafted(question=QUESTION, answer=Answer(content=text), engine="extractive")),
        ("verifier", AnswerVerified(question=QUESTION, answer=Answer(content=text), scores=scores, engine="x")),
    ]
    events: list[Event[Fact]] = [asked]
    for stage, fact in published:
        events.append(following(stage, fact, events[-1], Timing(stage=stage, waited_ms=took, worked_ms=took)))
    return events


@pytest.mark.parametrize(
    ("wanted", "fact"),
    [
        ("", "QuestionAsked"),
        ("moderation", "QuestionAsked"),
        ("retrieval", "QuestionCleared"),
        ("verifier", "AnswerDrafted"),
        ("AnswerDrafted", "AnswerDrafted"),
        ("AnswerDrafted.0", "AnswerDrafted"),
    ],
)
def test_a_replay_begins_where_it_is_told_by_fact_or_by_stage(wanted: str, fact: str) -> None:
    assert starting_point(run(), wanted).fact == fact


def test_a_replay_begins_with_the_next_fact_when_the_raw_question_has_expired() -> None:
    left = run()[1:]

    assert starting_point(left).fact == "QuestionApproved"
    assert is_shortened(left[0])
    assert not is_shortened(run()[0])


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ("moderation", "QuestionApproved.0"),
        ("AnswerDrafted.1", "AnswerDrafted.0"),
        ("anser", "one of the stages answer"),
    ],
)
def test_a_beginning_that_is_not_there_is_refused_with_those_that_are(wanted: str, named: str) -> None:
    with pytest.raises(RefusedError, match=named):
        starting_point(run()[1:], wanted)


def test_a_question_of_which_only_the_terminal_fact_is_left_is_not_replayed() -> None:
    with pytest.raises(RefusedError, match="only its terminal fact"):
        starting_point(run()[-1:])
    with pytest.raises(NotFoundError):
        starting_point([])


def test_a_replay_is_a_question_of_its_own_on_the_background_lane_that_names_its_parent() -> None:
    recorded = run()[3].model_copy(update={"reuse_key": "kept"})

    published = again(recorded, deadline_seconds=30)
    after = following("answer", AnswerDrafted(question=QUESTION, answer=Answer(content="!"), engine="x"), published)

    assert published.payload == recorded.payload
    assert published.correlation_id != recorded.correlation_id
    assert (published.lane, published.parent, published.origin) == (Lane.BACKGROUND, recorded.correlation_id, "replay")
    assert (published.reuse_key, published.conversation_id, published.causation_id) == (
        "",
        published.correlation_id,
        None,
    )
    assert published.timeline == recorded.timeline
    assert 29 < published.remaining <= 30
    assert (after.parent, after.origin, after.lane) == (published.parent, "replay", Lane.BACKGROUND)


def test_an_edit_changes_the_fields_it_names() -> None:
    payload = edited(run()[3].payload, {"feedback": "Be short."})

    assert isinstance(payload, PassagesRetrieved)
    assert payload.feedback == "Be short."
    assert payload.passages


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pasages": []}, "pasages: no such field"),
        ({"passages": [{"id": "x"}]}, "passages.0.source"),
        ({"question": {"text": "?", "langage": "fra"}}, "question.langage: no such field"),
        ({"passages": "none"}, "passages"),
    ],
)
def test_an_edit_that_breaks_the_schema_is_refused_by_the_name_of_the_field(
    changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(RefusedError, match=named):
        edited(run()[3].payload, changes)


def test_two_runs_are_the_same_whatever_their_ids_and_times() -> None:
    assert differing(essences(run(took=1.0)), essences(run(took=9.0))) == []
    assert difference(run(took=1.0), run(took=9.0)).verdict == "identical"


def test_two_runs_are_the_same_whatever_follows_their_record() -> None:
    before = run()
    ending = before[-1].payload.model_copy(update={"evaluate": True})
    after = [*before[:-1], before[-1].model_copy(update={"payload": ending})]

    assert difference(before, after).verdict == "identical"


def test_a_difference_names_fields_passages_and_words() -> None:
    found = difference(run(), run(text="It is fifty euros.", found="b", score=0.5))

    assert "AnswerVerified.0.answer.content" in found.changed
    assert (found.gained, found.lost) == (("kb:b.md#0-0",), ("kb:a.md#0-0",))
    assert ("-", "forty") in found.words
    assert ("+", "fifty") in found.words
    assert found.verdict == "worse"
    assert found.right.scores is not None
    assert found.right.scores.overall == 0.5


def test_a_replay_of_a_later_step_is_not_blamed_for_the_steps_before_it() -> None:
    before = run()
    published = again(before[4], deadline_seconds=30)
    payload = before[5].payload
    after = [published, following("verifier", payload, published)]

    found = difference(before, after)

    assert found.changed == ()
    assert found.verdict == "identical"
    assert found.lost == ()


def test_a_refusal_where_there_was_an_answer_is_worse() -> None:
    before = run()
    refused = QuestionRejected(kind="off_topic", text="?", message="No.")
    after: list[Event[Fact]] = [before[0], following("moderation", refused, before[0])]

    assert difference(before, after).verdict == "worse"
    assert difference(after, before).verdict == "better"


def test_a_setting_of_the_command_line_is_put_into_the_document() -> None:
    pipeline = Pipeline(name="p", sections={"answer": {"engine": "auto"}})

    changed = with_setting(with_setting(pipeline, "answer.temperature=0"), "retrieval.index.sources=2")

    assert changed.sections == {"answer": {"engine": "auto", "temperature": 0}, "retrieval": {"index": {"sources": 2}}}
    assert pipeline.sections == {"answer": {"engine": "auto"}}


@pytest.mark.parametrize("given", ["answer", "answer=1", "answer.temperature", ".x=1", "answer.engine.name=1"])
def test_a_setting_that_is_no_place_in_the_document_is_refused(given: str) -> None:
    with pytest.raises(PipelineError, match="--set"):
        with_setting(Pipeline(name="p", sections={"answer": {"engine": "auto"}}), given)
