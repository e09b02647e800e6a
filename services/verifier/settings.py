"""The `verifier` section of a pipeline."""

from __future__ import annotations

from pydantic import Field

from services.verifier.prompts import JUDGE
from shared.pipelines import PromptedSection

#: Language -> what the asker reads when nothing of any draft held.
DEFAULT_UNVERIFIED = {
    "en": "I could not confirm an answer to this question in the documents. These pages may help.",
    "fr": "Je n'ai pas pu confirmer de réponse à cette question dans les documents. Ces pages pourraient vous aider.",
}
#: Language -> what the asker reads when the answer said what it must not.
DEFAULT_GUARDED = {
    "en": "I cannot answer this question. Please ask about the subjects of the documents instead.",
    "fr": "Je ne peux pas répondre à cette question. Posez plutôt une question sur les sujets des documents.",
}


class VerifierSettings(PromptedSection):
    """How strictly drafts are checked, and how often one may be refuted."""

    max_refutations: int = Field(
        default=2,
        ge=0,
        le=5,
        description="How many drafts of a question may be refuted before the best of them is answered.",
    )
    threshold: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="The score that lets a draft pass: 40 % groundedness, 40 % relevancy, 20 % completeness.",
    )
    worth_showing: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="The best of the drafts that did not pass is answered when it scores this much; else `not_found`.",
    )
    judge: bool = Field(
        default=False, description="Whether the model that plays `judge` scores drafts; without one the rules do."
    )
    judge_prompt: str = Field(default=JUDGE, min_length=1, description="What the judge is told to look for.")
    judge_seconds: float = Field(
        default=15.0, gt=0, description="The rules take over after this long, or after half of the time that is left."
    )
    min_overlap: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="The share of a sentence's words that its passages must have for it to be supported, where no "
        "judge says so. Sentences of the extractive engine must be there word for word instead.",
    )
    forbidden: tuple[str, ...] = Field(
        default=(), description="Phrases that no answer may have, whatever the documents say; case does not matter."
    )
    max_followups: int = Field(default=3, ge=0, description="The most follow-up questions suggested.")
    max_links: int = Field(default=3, ge=0, description="How many pages are shown when nothing of any draft held.")
    unverified: dict[str, str] = Field(
        default_factory=dict, description="Replaces what the asker reads when nothing held: language -> text."
    )
    guarded: dict[str, str] = Field(
        default_factory=dict,
        description="Replaces what the asker reads when the answer said what it must not: language -> text.",
    )
