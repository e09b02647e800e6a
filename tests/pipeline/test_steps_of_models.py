"""The steps that a model takes before the search, over real HTTP: translation."""

from __future__ import annotations

from pathlib import Path

from tests.support.judged import RENT, Script, platform, result_of, tags
from tests.support.model_server import Said


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
    script = Script([tags("L'entrée de la piscine coûte trois euros pour les adultes. [1]")], language=Said(status=400))
    async with platform(tmp_path, script, translation={"translate": True}) as (bus, client):
        result = await result_of(client, "Combien coûte l'entrée de la piscine pour les adultes ?")
        facts = bus.names(result["id"])

    assert "QuestionTranslated" not in facts
    assert "trois euros" in result["answer"]["content"]
