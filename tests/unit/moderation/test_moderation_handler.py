"""Moderation as its hearers see it: approved, rejected, or cleared at the second look."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from services.moderation.handler import look_again, moderate
from services.moderation.settings import ModerationSettings
from services.moderation.tidy import tidy
from shared.domain import Question, Turn
from shared.facts import QuestionApproved, QuestionAsked, QuestionCleared, QuestionRejected, QuestionTranslated

SEARCH = "https://www.example.org/{language}/search?q={query}"


async def ask(text: str, *, hint: str = "", turns: tuple[Turn, ...] = (), **settings: object) -> object:
    asked = QuestionAsked(text=text, language_hint=hint, turns=turns)
    return await moderate(asked, ModerationSettings.model_validate(settings))


async def test_a_plain_question_is_approved_with_its_turns_and_hint() -> None:
    turn = Turn(question="How do I apply?", answer="Online.")

    said = await ask("  How do\tI renew\u00a0my passport? ", hint="en-CA", turns=(turn,))

    assert said == QuestionApproved(
        question=Question(text="How do I renew my passport?", turns=(turn,)), language_hint="en-CA"
    )


async def test_a_short_query_is_sent_to_the_search_page_in_its_language() -> None:
    said = await ask("impôts & taxes", hint="fr", search_url=SEARCH, short_words=3)

    assert isinstance(said, QuestionRejected)
    assert said.kind == "too_short"
    assert said.message.startswith("Veuillez")
    assert said.link
    assert parse_qs(urlsplit(said.link.url).query) == {"q": ["impôts & taxes"]}
    assert urlsplit(said.link.url).path == "/fr/search"


async def test_a_short_query_goes_to_the_home_page_when_there_is_no_search() -> None:
    said = await ask("passport", home_url="https://www.example.org/")

    assert isinstance(said, QuestionRejected)
    assert said.link
    assert said.link.url == "https://www.example.org/"


async def test_a_short_query_is_approved_after_a_longer_question() -> None:
    turn = Turn(question="How do I renew my passport?", answer="Online.")

    assert isinstance(await ask("For children?", turns=(turn,)), QuestionApproved)


async def test_a_short_query_is_rejected_after_short_questions_only() -> None:
    turn = Turn(question="passport", answer="...")

    assert isinstance(await ask("For children?", turns=(turn,)), QuestionRejected)


@pytest.mark.parametrize("text", ["パスポートの更新方法は？", "如何更新护照", "ต่ออายุหนังสือเดินทางอย่างไร"])
async def test_a_language_without_spaces_is_not_judged_by_words(text: str) -> None:
    assert isinstance(await ask(text), QuestionApproved)


@pytest.mark.parametrize("text", ["", " \n ", "\u200b\u200b", "??? !!!", "- - - -"])
async def test_a_text_without_words_is_too_short_whatever_came_before(text: str) -> None:
    turn = Turn(question="How do I renew my passport?", answer="Online.")

    said = await ask(text, turns=(turn,), short_words=0)

    assert isinstance(said, QuestionRejected)
    assert said.kind == "too_short"


async def test_private_data_is_rejected_with_the_text_redacted() -> None:
    said = await ask("Is my number 613-555-0142 on file?", search_url=SEARCH)

    assert isinstance(said, QuestionRejected)
    assert (said.kind, said.text, said.link) == ("pii", "Is my number XXX on file?", None)
    assert "555" not in said.model_dump_json()


async def test_a_short_query_never_carries_private_data_to_the_search_page() -> None:
    said = await ask("bob@example.org", search_url=SEARCH, pii={"email": "redact"})

    assert isinstance(said, QuestionRejected)
    assert said.kind == "too_short"
    assert "bob" not in said.model_dump_json()


async def test_a_redacted_question_goes_on_with_its_findings() -> None:
    said = await ask("Did you get my mail from bob@example.org yesterday?", pii={"email": "redact"})

    assert isinstance(said, QuestionApproved)
    assert said.question.text == "Did you get my mail from XXX yesterday?"
    assert [(finding.kind, finding.count) for finding in said.findings] == [("email", 1)]


async def test_the_message_is_in_the_language_of_the_text_when_there_is_no_hint() -> None:
    said = await ask("Quelle est la date de mon rendez-vous, et est-ce que vous avez le 613-555-0142 ?")

    assert isinstance(said, QuestionRejected)
    assert "renseignements personnels" in said.message


async def test_a_pipeline_replaces_one_message_and_keeps_the_others() -> None:
    messages = {"too_short": {"en": "Say more."}}

    short = await ask("passport", messages=messages)
    private = await ask("my mail is bob@example.org", messages=messages)

    assert isinstance(short, QuestionRejected)
    assert isinstance(private, QuestionRejected)
    assert short.message == "Say more."
    assert "personal information" in private.message


async def test_the_second_look_clears_a_harmless_translation() -> None:
    question = Question(text="Comment faire ?", language="fra", pivot_text="How to?", pivot_language="eng")

    said = await look_again(QuestionTranslated(question=question), ModerationSettings())

    assert said == QuestionCleared(question=question)


async def test_the_second_look_rejects_what_the_translation_brought_to_light() -> None:
    question = Question(text="...", language="fra", pivot_text="Call me at 613-555-0142", pivot_language="eng")

    said = await look_again(QuestionTranslated(question=question), ModerationSettings())

    assert isinstance(said, QuestionRejected)
    assert said.text == "Call me at XXX"
    assert "renseignements" in said.message


@pytest.mark.parametrize("section", [{"search_url": "https://e.org"}, {"pii": {"email": "no"}}, {"pii": {"x": "off"}}])
def test_a_wrong_setting_is_refused(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModerationSettings.model_validate(section)


@given(st.text(max_size=100))
def test_tidying_twice_changes_nothing(text: str) -> None:
    once = tidy(text)

    assert tidy(once) == once
    assert once == once.strip()


def test_tidying_keeps_the_joiners_that_letters_need() -> None:
    assert tidy("می\u200cخواهم") == "می\u200cخواهم"
    assert tidy("a\u202eb\u00adc\x07 e\u0301") == "abc é"
