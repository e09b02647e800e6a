"""The `translation` section of a pipeline."""

from __future__ import annotations

from pydantic import Field, field_validator

from shared.languages import UNKNOWN, code3
from shared.pipelines import Section


class TranslationSettings(Section):
    """Which languages are told apart, and what an uncertain text is taken for."""

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
        default=0.1,
        ge=0,
        le=1,
        description="How far the likeliest language must be ahead of the next (share of probability) to be believed.",
    )

    @field_validator("languages")
    @classmethod
    def _codes(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cls._code(language) for language in languages))

    @field_validator("default_language")
    @classmethod
    def _code(cls, language: str) -> str:
        code = code3(language)
        if code == UNKNOWN:
            raise ValueError(f"not a language known here: {language}")
        return code
