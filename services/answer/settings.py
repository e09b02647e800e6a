"""The `answer` section of a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.pipelines import Section

#: Language -> what the asker reads when the passages do not answer the question.
DEFAULT_NOT_FOUND = {
    "en": "I could not find an answer to this question in the documents I have.",
    "fr": "Je n'ai pas trouvé de réponse à cette question dans les documents dont je dispose.",
}


class AnswerSettings(Section):
    """How answers are written, and when there is none."""

    engine: Literal["extractive"] = Field(
        default="extractive", description="extractive: the best sentences of the passages, word for word."
    )
    max_sentences: int = Field(default=4, ge=1, le=12, description="The most sentences an answer has.")
    max_answer_chars: int = Field(default=1200, ge=80, description="The longest answer, in characters.")
    min_coverage: float = Field(
        default=0.51,
        ge=0,
        le=1,
        description="The share of the question's words that the quoted sentences and the title of one source must "
        "speak of; with less the answer is `not_found`. The default asks for more than half. 0: always answer.",
    )
    max_links: int = Field(default=3, ge=0, description="How many pages a `not_found` answer points to.")
    not_found: dict[str, str] = Field(
        default_factory=dict, description="Replaces what the asker reads then: language -> text."
    )
