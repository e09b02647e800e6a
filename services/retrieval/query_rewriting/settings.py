"""What is done to a question before it is searched for."""

from __future__ import annotations

from pydantic import Field

from services.retrieval.query_rewriting.prompts import DECOMPOSE, QUERY, RESTATE
from shared.contracts.pipelines import Section


class UnderstandingSettings(Section):
    """Steps before the search. Those of a model need one that plays `fast`; without it the rules do what they can."""

    standalone: bool = Field(
        default=True,
        description="Whether what a question leaves to the conversation (`it`, `the symptoms`, `and for students?`) is "
        "put in by rule, in English and French.",
    )
    rewriting: bool = Field(
        default=False, description="Whether a model does that, with the rules where it fails; in any language."
    )
    clarify: bool = Field(
        default=True,
        description="Whether the asker is asked back where a pronoun can mean several things, or the model of "
        "`rewriting` cannot tell what is meant.",
    )
    max_clarifications: int = Field(
        default=1, ge=0, le=5, description="So many questions back in a row; after these the question is answered."
    )
    query_rewriting: bool = Field(
        default=False, description="Whether a model writes a text to search with, beside the question itself."
    )
    decomposition: bool = Field(
        default=False, description="Whether a model cuts a question that asks several things into questions of one."
    )
    max_sub_questions: int = Field(default=4, ge=1, le=4, description="Into so many, at most.")
    model_seconds: float = Field(
        default=5.0,
        gt=0,
        description="A model is not waited for longer in any of these steps, nor than a quarter of the time left.",
    )
    rewriting_prompt: str = Field(default=RESTATE, min_length=1, description="What the model of `rewriting` is told.")
    query_prompt: str = Field(default=QUERY, min_length=1, description="What the model of `query_rewriting` is told.")
    decomposition_prompt: str = Field(
        default=DECOMPOSE, min_length=1, description="What the model of `decomposition` is told."
    )
