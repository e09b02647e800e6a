"""Parts of a result that clients show whatever the pipeline."""

from __future__ import annotations

from services.gateway.streaming.result_parts import citation_url, metadata, paragraphs, search_results
from services.persistence.projection import exchange
from shared.contracts.domain import Citation, Context, ModelCall, Passage, Timing
from shared.contracts.facts import AnswerReused, QuestionRejected
from tests.contracts.samples import sample_events
from tests.unit.gateway.harness import exchange_json, question_json, result_json

SAMPLES = sample_events()


def test_paragraphs_are_the_text_between_blank_lines() -> None:
    assert paragraphs("One. [1]\nStill one.\n\n  \nTwo.\n") == ["One. [1]\nStill one.", "Two."]
    assert paragraphs(" ") == []


def test_the_citation_url_is_the_first_that_there_is() -> None:
    cited = [
        Citation(number=number, source="kb:a", passage="p", url=url) for number, url in ((1, ""), (2, "https://b"))
    ]

    assert (citation_url(cited), citation_url(cited[:1])) == ("https://b", "")


def test_a_page_is_listed_once_with_the_beginning_of_its_best_passage() -> None:
    long = Passage(id="1", source="kb:a", text="word " * 200, title="A", url="https://a")
    found = search_results(
        [long, long.model_copy(update={"id": "2", "text": "other"}), Passage(id="3", source="kb:b", text="b")]
    )

    assert [(one["url"], one["source"]) for one in found] == [("https://a", "kb:a"), ("", "kb:b")]
    assert len(found[0]["text"]) <= 301
    assert found[0]["text"].endswith("word…")


def test_the_model_is_the_one_that_wrote_the_answer_and_none_where_sentences_were_quoted() -> None:
    calls = [
        ModelCall(stage="answer", step=step, role="main", model=model)
        for step, model in (("answer", "big"), ("followups", "small"))
    ]
    timeline = [Timing(stage="answer", waited_ms=1.5, worked_ms=2.0)]
    used = [{"tool": "search_context"}, {"tool": "search_context"}, {"tool": "check_url_status"}]

    assert metadata("agent", timeline, calls, used, "google") == {
        "model": "big",
        "tools_used": ["search_context", "check_url_status"],
        "response_ms": 3.5,
        "search_provider": "google",
    }
    assert metadata("extractive", (), calls, (), "")["model"] == ""


def test_an_answer_given_again_has_the_department_of_the_first_one() -> None:
    event = SAMPLES["AnswerReused"]
    assert isinstance(event.payload, AnswerReused)
    context = Context(department="CRA-ARC", topic="Income tax", read_on="https://example.org/tax", notes=("secret",))
    again = event.model_copy(update={"payload": event.payload.model_copy(update={"context": context})})

    assert result_json(again)["context"] == {
        "department": "CRA-ARC",
        "topic": "Income tax",
        "read_on": "https://example.org/tax",
        "department_url": "https://example.org/tax",
        "language": "fra",
    }


def test_a_rejection_that_the_pipeline_calls_an_error_has_that_status_in_the_record_too() -> None:
    event = SAMPLES["QuestionRejected"]
    assert isinstance(event.payload, QuestionRejected)
    wrong = event.model_copy(update={"payload": event.payload.model_copy(update={"error": True})})
    recorded = exchange(wrong.payload, wrong)

    assert question_json(event)["status"] == "COMPLETE"
    assert question_json(wrong)["status"] == exchange_json(recorded)["status"] == "ERROR"
    assert exchange_json(recorded)["result"]["metadata"] == question_json(wrong)["result"]["metadata"]
