"""Wiring of the translation stage."""

from __future__ import annotations

from services.translation.adapters import LinguaIdentifier
from services.translation.handler import Translator
from services.translation.settings import TranslationSettings
from shared.resources import Resources
from shared.stage import Stage


def build(resources: Resources) -> Stage:
    identifier = LinguaIdentifier(preload=TranslationSettings().languages)
    stage = Stage("translation", settings=TranslationSettings)
    stage.on(Translator(identifier, resources.models).translate)
    stage.opens(identifier)
    return stage


if __name__ == "__main__":
    from shared.worker import run

    run(build)
