"""The steps that a model takes before the search, over real HTTP: translation, danger, gate, private data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.judged import GOOD, RENT, Script, platform, result_of, tags
from tests.support.model_server import ScriptedReply


async def test_a_question_is_translated_searched_and_looked_at_again(tmp_path: Path) -> None:
    spanish = "¿Cuánto cuesta el alquiler de una parcela del huerto?"
    script = Script(
        [tags("El alquiler de la parcela es de cuarenta euros. [1]")], language={"language": "spa", "text": RENT}
    )
    translation = {"translate": True, "languages": ["eng", "fra", "spa"]}
    async with platform(tmp_path, script, translation=translation) as (bus, client):
        result = await result_of(client, spanish)
        facts = bus.names(result["id"])

    assert facts[:4] == ["QuestionAsked", "QuestionApproved", "QuestionTranslated", "QuestionCleared"]
    assert result["answer"]["content"].startswith("El alquiler")
    assert result["context"]["language"] == "spa"
    assert result["best_effort"] is False


async def test_without_a_translation_the_question_goes_on_in_its_own_language(tmp_path: Path) -> None:
    script = Script(
        [tags("L'entrée de la piscine coûte trois euros pour les adultes. [1]")], language=ScriptedReply(status=400)
    )
    async with platform(tmp_path, script, translation={"translate": True}) as (bus, client):
        result = await result_of(client, "Combien coûte l'entrée de la piscine pour les adultes ?")
        facts = bus.names(result["id"])

    assert "QuestionTranslated" not in facts
    assert "trois euros" in result["answer"]["content"]


async def test_danger_that_only_a_model_sees_gets_the_resources_at_once(tmp_path: Path) -> None:
    script = Script([tags(GOOD)], emergency={"emergency": True})
    async with platform(tmp_path, script, moderation={"emergency_check": True, "gate": True}) as (_, client):
        result = await result_of(client, "Since yesterday I see no way to go on with any of this")

    assert result["outcome"] == "escalated"
    assert result["answer"]["type"] == "emergency"
    assert result["answer"]["links"]
    assert script.answered == []


async def test_the_gate_and_the_search_for_private_data_are_steps_of_a_model(tmp_path: Path) -> None:
    found = {"found": [{"text": "Jo Moreau", "kind": "name"}]}
    script = Script([tags(GOOD)], kind={"kind": "question"}, found=found)
    moderation = {"gate": True, "ai_pii": "redact"}
    async with platform(tmp_path, script, moderation=moderation) as (bus, client):
        result = await result_of(client, f"I am called Jo Moreau. {RENT}")
        later = [event.encode() for event in bus.history(result["id"])[1:]]

    assert result["answer"]["content"] == GOOD
    assert not [data for data in later if b"Moreau" in data]


async def test_danger_hidden_in_another_language_is_plain_in_the_translation(tmp_path: Path) -> None:
    script = Script([tags(GOOD)], language={"language": "spa", "text": "I want to kill myself tonight"})
    translation = {"translate": True, "languages": ["eng", "fra", "spa"]}
    async with platform(tmp_path, script, translation=translation) as (bus, client):
        result = await result_of(client, "Esta noche ya no quiero seguir con nada de esto")
        facts = bus.names(result["id"])

    assert facts[:4] == ["QuestionAsked", "QuestionApproved", "QuestionTranslated", "QuestionEscalated"]
    assert result["answer"]["links"]


@pytest.mark.parametrize(
    ("step", "moderation"),
    [
        ("kind", {"gate": True, "gate_fail": "closed"}),
        ("found", {"ai_pii": "block", "ai_pii_fail": "closed"}),
        ("emergency", {"emergency_check": True, "emergency_check_fail": "closed"}),
    ],
)
async def test_a_step_that_fails_closed_rejects_the_question(
    tmp_path: Path, step: str, moderation: dict[str, Any]
) -> None:
    failing: dict[str, Any] = {step: ScriptedReply(status=500)}
    script = Script([tags(GOOD)], **failing)
    async with platform(tmp_path, script, moderation=moderation) as (bus, client):
        result = await result_of(client, f"I am called Jo Moreau. {RENT}")
        later = [event.encode() for event in bus.history(result["id"])[1:]]

    assert (result["outcome"], result["rejection"]["kind"]) == ("rejected", "unchecked")
    assert "could not be checked" in result["answer"]["content"]
    assert script.answered == []
    if step == "found":
        assert not [data for data in later if b"Moreau" in data]


async def test_a_step_that_fails_open_lets_the_question_go_on(tmp_path: Path) -> None:
    script = Script([tags(GOOD)], found=ScriptedReply(status=400), kind=ScriptedReply(status=400))
    async with platform(tmp_path, script, moderation={"ai_pii": "block", "gate": True}) as (_, client):
        result = await result_of(client, RENT)

    assert result["answer"]["content"] == GOOD
