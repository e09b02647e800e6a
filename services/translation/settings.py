"""The `translation` section of a pipeline."""

from __future__ import annotations

from pydantic import Field, field_validator

from services.translation.prompts import TRANSLATE
from shared.contracts.pipelines import PromptedSection
from shared.text.languages import UNKNOWN, code3


class TranslationSettings(PromptedSection):
    """Which languages are told apart, what an uncertain text is taken for, and what is translated."""

    languages: tuple[str, ...] = Field(
        default=("eng", "fra"),
        min_length=1,
        description="The languages askers write in (ISO 639-1 or 639-3). Fewer are told apart better, faster and in "
        "less memory (20 to 40 MB each).",
    )
    default_language: str = Field(
        default="eng", description="What a text is taken for when the languages are too close."
    )
    margin: float = Field(
        default=0.03,
        ge=0,
        le=1,
        description="How far the likeliest language must be ahead of the next (share of probability) to be believed.",
    )

    translate: bool = Field(
        default=False,
        description="Whether the model that plays `fast` puts questions into `pivot_language`.",
    )
    pivot_language: str = Field(default="eng", description="The language of the documents.")
    translate_prompt: str = Field(default=TRANSLATE, min_length=1, description="What the translating model is told.")
    translate_seconds: float = Field(
        default=8.0,
        gt=0,
        description="The question stays in its language after this long, or after a third of the time that is left.",
    )

    @field_validator("languages")
    @classmethod
    def _codes(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cls._code(language) for language in languages))

    @field_validator("default_language", "pivot_language")
    @classmethod
    def _code(cls, language: str) -> str:
        code = code3(language)
        if code == UNKNOWN:
            raise ValueError(f"not a language known here: {language}")
        return code
