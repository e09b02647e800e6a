"""The `verifier` section of a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from services.verifier.prompts import JUDGE
from shared.contracts.pipelines import PromptedSection
from shared.text.urls import well_formed
from shared.web.hosts import host_list

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
    evaluation: Literal["background", "inline", "off"] = Field(
        default="background",
        description="Whether sentences and citations are scored: after the asker has the answer, with the answer, or "
        "not.",
    )
    evaluation_share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="The share of live answers that are evaluated in the background; those of batches all are.",
    )
    evaluation_judge: bool = Field(
        default=True,
        description="Whether the model that plays `judge` evaluates in the background, where there is one.",
    )
    check_urls: bool = Field(
        default=False,
        description="Whether the addresses of citations are asked for before the asker gets them (`on`, `off`).",
    )
    check_seconds: float = Field(
        default=5.0,
        gt=0,
        le=10,
        description="All checks of an answer have this long, or half of the time that is left.",
    )
    check_ttl_seconds: float = Field(
        default=86_400,
        ge=1,
        description="How long an address that works is not asked for again; others an hour at most, unreachable ones "
        "a minute.",
    )
    url_allow: tuple[str, ...] = Field(
        default=(),
        description="Only these hosts are asked (example.org, *.example.org), as far as the operator allows.",
    )
    url_deny: tuple[str, ...] = Field(default=(), description="These hosts are never asked.")
    soft_404: tuple[str, ...] = Field(
        default=(),
        description="What the title or heading of a page says that is not there, or (beginning with /) the path it "
        "redirects to, with * for anything. Common ones are known.",
    )
    search_url: dict[str, str] = Field(
        default_factory=dict,
        description="Search page given instead of an address that is gone: language -> URL, with `{query}`.",
    )
    home_url: dict[str, str] = Field(
        default_factory=dict, description="Page given where nothing else is left: language -> URL."
    )
    forbidden: tuple[str, ...] = Field(
        default=(), description="Phrases that no answer may have, whatever the documents say; case does not matter."
    )
    guardrails: bool = Field(
        default=False,
        description="Whether the output flows of `moderation.guardrails_colang` look at every draft; moderation is "
        "asked over the bus.",
    )
    guardrails_seconds: float = Field(
        default=5.0,
        gt=0,
        description="How long they have, and never more than a third of the time that is left; their own limit in "
        "the section of moderation holds too.",
    )
    guardrails_fail: Literal["open", "closed"] = Field(
        default="open",
        description="When moderation does not reply: open gives the answer with a warning and a metric, closed sends "
        "it back. Rails that moderation finds away fail as `moderation.guardrails_fail` says.",
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

    @field_validator("evaluation", mode="before")
    @classmethod
    def _word(cls, value: object) -> object:
        """YAML reads a bare `off` as false."""
        return "off" if value is False else value

    @field_validator("url_allow", "url_deny")
    @classmethod
    def _hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return host_list(value)

    @field_validator("search_url", "home_url")
    @classmethod
    def _addresses(cls, value: dict[str, str]) -> dict[str, str]:
        wrong = [url for url in value.values() if not well_formed(url.replace("{query}", ""))]
        if wrong:
            raise ValueError(f"{wrong[0]}: write an address that begins with https:// or http://")
        return value
