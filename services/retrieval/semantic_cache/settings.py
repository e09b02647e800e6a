"""When the answer of another question is given again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from services.retrieval.semantic_cache.prompts import SAME
from shared.contracts.pipelines import Section


class SimilarSettings(Section):
    """Whether a question gets the answer of an earlier one that asks the same in other words, and how sure that must
    be."""

    mode: Literal["off", "on"] = Field(
        default="off", description="`on`: verified answers are kept by their questions, and given again."
    )
    near: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        default={"eng": 0.79},
        description="Least nearness (cosine) of two questions that ask the same, by language (ISO 639-3), where "
        "embeddings are configured; in other languages, and without embeddings, the words decide alone.",
    )
    margin: float = Field(
        default=0.08, ge=0, le=1, description="So much nearer it must be than any question with another answer."
    )
    narrower: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="So much nearer still where one question says all that the other says, and a word or two more.",
    )
    rival_cover: float = Field(
        default=0.75,
        gt=0,
        le=1,
        description="Where the words decide alone: no answer is given again while a question with another answer "
        "shares this share of the words of meaning.",
    )
    candidates: int = Field(default=20, ge=1, le=100, description="So many kept questions are compared.")
    days: float = Field(default=30, gt=0, description="An answer is given again for so long.")
    model: bool = Field(
        default=False,
        description="Whether the model that plays `fast` has the last word; where it fails, nothing is given again.",
    )
    model_seconds: float = Field(default=3.0, gt=0, description="The model is not waited for longer.")
    prompt: str = Field(default=SAME, min_length=1, description="What the model is told.")
