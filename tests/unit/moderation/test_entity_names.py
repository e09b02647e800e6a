"""Names of people by a spaCy pipeline that the operator has: here one of rules, made by the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.moderation.entity_names import AllDetectors, EntityNames
from services.moderation.settings import ModerationSettings
from shared.contracts.errors import ConfigurationError

spacy = pytest.importorskip("spacy", reason="needs the extra pii")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    blank = spacy.blank("en")
    blank.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Ada Lovelace"}])
    folder = tmp_path_factory.mktemp("names") / "pipeline"
    blank.to_disk(folder)
    return folder


async def test_people_whom_the_pipeline_names_are_private(pipeline: Path) -> None:
    names = AllDetectors(EntityNames())
    text = "Where does Ada Lovelace get her permit?"
    [span] = await names.spans(text, ModerationSettings(name_models={"en": str(pipeline)}))

    assert (span.kind, text[span.start : span.end]) == ("name", "Ada Lovelace")


async def test_without_a_pipeline_nothing_is_loaded() -> None:
    names = EntityNames()

    assert await names.spans("Where does Ada Lovelace get her permit?", ModerationSettings()) == ()
    await names.close()


async def test_a_pipeline_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="no_such_pipeline"):
        await EntityNames().spans("Where is it?", ModerationSettings(name_models={"en": "no_such_pipeline"}))
