"""A question in a file: what is in it, what is left out, and which files are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.bus.ports import StoredEvent
from shared.contracts.domain import Lane, PipelineRef, Question
from shared.contracts.envelope import following, opening
from shared.contracts.errors import RefusedError
from shared.contracts.facts import QuestionApproved, QuestionAsked, QuestionRejected
from shared.contracts.pipelines import Pipeline
from shared.history.export import exported, read_export
from shared.history.history import EventFilter, event_json

SECRET = "my number is 4711"


def stored() -> list[StoredEvent]:
    asked = opening(
        "gateway", QuestionAsked(text=SECRET), pipeline=PipelineRef(name="default", revision=2), deadline_seconds=30
    )
    approved = following("moderation", QuestionApproved(question=Question(text="my number is …")), asked)
    ended = following("moderation", QuestionRejected(kind="off_topic", text="…", message="No."), approved)
    events = enumerate((asked, approved, ended), start=7)
    return [StoredEvent(event.subject, number, datetime.now(UTC), event.encode()) for number, event in events]


def document(**changes: Any) -> str:
    question = json.loads(exported(stored(), Pipeline(name="default"), raw=False).encode())
    return json.dumps({**question, **changes})


def test_an_export_holds_facts_pipeline_and_versions_but_not_what_was_typed() -> None:
    text = exported(stored(), Pipeline(name="default", description="d"), raw=False).encode()

    question = read_export(text, "q.json")
    assert SECRET not in text
    assert question.left_out == ("QuestionAsked",)
    assert [event.fact for event in question.decoded()] == ["QuestionApproved", "QuestionRejected"]
    assert question.document is not None
    assert question.document.description == "d"
    assert (question.pipeline.revision, question.schema_version, question.version) == (2, 1, 1)


def test_an_export_holds_what_was_typed_when_that_is_asked_for() -> None:
    question = read_export(exported(stored(), None, raw=True).encode(), "q.json")

    assert question.decoded()[0].fact == "QuestionAsked"
    assert [one.sequence for one in question.stored()] == [7, 8, 9]


def test_a_question_of_which_only_the_raw_text_is_known_is_exported_only_when_asked_for() -> None:
    with pytest.raises(RefusedError, match="--raw"):
        exported(stored()[:1], None, raw=False)


def test_imported_events_are_marked_on_the_background_lane_and_keep_their_causes() -> None:
    first, second = read_export(document(), "q.json").imported()

    assert {first.lane, second.lane} == {Lane.BACKGROUND}
    assert {first.origin, second.origin} == {"imported"}
    assert second.causation_id == first.event_id
    assert second.subject.startswith("bg.question.rejected.")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "not JSON"),
        ("[]", "not an exported question"),
        ('{"format": "other"}', "not an exported question"),
        (document(version=0), "an export of version 0, this program reads 1"),
        (document(version=2), "an export of version 2"),
        (document(surprise=1), "surprise"),
        (document(events=[]), "has no events"),
        (document(id="0" * 32), "events of other questions"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_name_in_one_line(text: str, named: str) -> None:
    with pytest.raises(RefusedError, match=named) as refused:
        read_export(text, "old.json")

    assert str(refused.value).startswith("old.json: ")
    assert "\n" not in str(refused.value)


def test_an_export_whose_events_do_not_fit_the_schema_is_refused() -> None:
    question = json.loads(document())
    del question["events"][0]["event"]["payload"]["question"]

    with pytest.raises(RefusedError, match="does not fit this version"):
        read_export(json.dumps(question), "old.json")


@pytest.mark.parametrize(
    ("event_filter", "facts"),
    [
        (EventFilter(), ["QuestionAsked", "QuestionApproved", "QuestionRejected"]),
        (EventFilter(fact="QuestionApproved"), ["QuestionApproved"]),
        (EventFilter(stage="gateway"), ["QuestionAsked"]),
        (EventFilter(pipeline="support"), []),
        (EventFilter(lane=Lane.BACKGROUND), []),
        (EventFilter(cid="0" * 32), []),
        (EventFilter(contains="NUMBER IS 4"), ["QuestionAsked"]),
    ],
)
def test_events_are_narrowed_by_pipeline_stage_fact_question_lane_and_text(
    event_filter: EventFilter, facts: list[str]
) -> None:
    assert [shown["fact"] for one in stored() if (shown := event_filter.shown(one))] == facts


def test_an_event_that_cannot_be_read_is_shown_where_its_subject_is_wanted() -> None:
    broken = StoredEvent(stored()[1].subject, 1, datetime.now(UTC), b"{}")

    assert EventFilter(fact="QuestionApproved").shown(broken)
    assert EventFilter(contains="x").shown(broken) is None
    assert "unreadable" in event_json(broken)["payload"]
