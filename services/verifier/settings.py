"""The `verifier` section of a pipeline."""

from __future__ import annotations

from pydantic import Field

from shared.pipelines import Section

#: Language -> what the asker reads when no draft held.
DEFAULT_UNVERIFIED = {
    "en": "I could not confirm an answer to this question in the documents. These pages may help.",
    "fr": "Je n'ai pas pu confirmer de réponse à cette question dans les documents. Ces pages pourraient vous aider.",
}


class VerifierSettings(Section):
    """How strictly drafts are checked, and how often one may be refuted."""

    max_refutations: int = Field(
        default=1, ge=0, description="How many drafts of a question may be refuted before it is given up."
    )
    min_overlap: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="The share of a sentence's words that its passages must have for it to be supported. Sentences "
        "of the extractive engine must be there word for word instead.",
    )
    max_followups: int = Field(default=3, ge=0, description="The most follow-up questions suggested.")
    max_links: int = Field(default=3, ge=0, description="How many pages the asker of an abandoned question is shown.")
    unverified: dict[str, str] = Field(
        default_factory=dict, description="Replaces what the asker reads when no draft held: language -> text."
    )
