"""Settings of query rewriting: `retrieval.query_rewriting` of a pipeline."""

from __future__ import annotations

from pydantic import Field

from services.retrieval.query_rewriting.prompts import DECOMPOSE, QUERY, RESTATE
from shared.contracts.pipelines import Section


class QueryRewritingSettings(Section):
    """Steps before the search. Steps by a model need one in the role `fast`; without it only the rules apply."""

    standalone: bool = Field(
        default=True,
        description="Whether rules make a follow-up (`it`, `the symptoms`, `and for students?`) a standalone question, "
        "in English and French.",
    )
    context: bool = Field(
        default=True,
        description="Whether a question of a conversation is searched together with the words of earlier turns, which "
        "count less than its own.",
    )
    rewriting: bool = Field(
        default=False,
        description="Whether a model makes follow-ups standalone questions, in any language; the rules apply if it "
        "fails.",
    )
    clarify: bool = Field(
        default=True,
        description="Whether the asker is asked for clarification when a pronoun is ambiguous, or the model of "
        "`rewriting` cannot tell what is meant.",
    )
    max_clarifications: int = Field(
        default=1, ge=0, le=5, description="Maximum clarifications in a row; after these the question is answered."
    )
    search_query: bool = Field(
        default=False, description="Whether a model writes an additional search query beside the question itself."
    )
    decomposition: bool = Field(
        default=False, description="Whether a model splits a question that asks several things into sub-questions."
    )
    max_sub_questions: int = Field(default=4, ge=1, le=4, description="Maximum number of sub-questions.")
    model_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Timeout of each model call, in seconds; never more than a quarter of the time left.",
    )
    rewriting_prompt: str = Field(default=RESTATE, min_length=1, description="System prompt of `rewriting`.")
    query_prompt: str = Field(default=QUERY, min_length=1, description="System prompt of `search_query`.")
    decomposition_prompt: str = Field(default=DECOMPOSE, min_length=1, description="System prompt of `decomposition`.")
