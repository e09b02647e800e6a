"""The `moderation` section of a pipeline."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from services.moderation.default_messages import DEFAULT_MESSAGES, DEFAULT_RESOURCES
from services.moderation.lexicon import Lexicon, LexiconError, compiled
from services.moderation.model_settings import ModelStepSettings
from services.moderation.packaged_lexicons import packaged
from shared.contracts.facts import RejectionKind
from shared.text.languages import UNKNOWN, code3, localised

#: What happens to private data of one kind: the question is refused, goes on without it, or is left as it is.
Policy = Literal["block", "redact", "off"]
PrivateKind = Literal[
    "email", "phone", "card", "iban", "ssn", "sin", "cpf", "id_number", "ip", "postal_code", "name", "password"
]
#: What can be asked about without the question being about a person.
_REDACTED: frozenset[str] = frozenset(["ip", "postal_code", "name"])

#: What follows when a check objects: the asker is told, gets silence, or the check does not count.
Outcome = Literal["tell", "silent", "off"]

Packaged = Literal[
    "crisis", "threat", "manipulation", "jailbreak", "profanity", "greeting", "thanks", "chitchat", "allowed"
]
LexiconKind = Packaged | Literal["off_topic"]


class Resource(BaseModel):
    """A service for people in danger: its address (`tel:988`) and what it is called, by language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    title: dict[str, str]


class ModerationSettings(ModelStepSettings):
    """What is let through, and what the asker of the rest is told."""

    short_words: int = Field(
        default=2,
        ge=0,
        description="A question of so many words or fewer is too short, unless an earlier one of the conversation was "
        "longer. 0: any length will do.",
    )
    search_url: str = Field(
        default="",
        description="Where a question that is too short is sent: a URL with `{query}` and, if wanted, `{language}` "
        "(two letters). Empty: `home_url`.",
    )
    home_url: str = Field(default="", description="The page offered when there is no search page. Empty: no link.")
    pii: dict[PrivateKind, Policy] = Field(
        default_factory=dict,
        description="What to do with private data by kind: block, redact or off. Kinds that are not named are blocked; "
        "ip, postal_code and name are redacted.",
    )
    pii_engine: Literal["builtin", "presidio"] = Field(
        default="builtin",
        description="`presidio` looks with Microsoft Presidio too (extra `pii`); the built-in patterns always look.",
    )
    phone_regions: tuple[str, ...] = Field(
        default=("CA", "US", "FR", "GB"),
        description="Regions (ISO 3166) whose national phone numbers are told without a word beside them.",
    )
    outcomes: dict[RejectionKind, Outcome] = Field(
        default_factory=dict,
        description="By rejection kind: tell (the message), silent (`reply` is false) or off (the check does not "
        "count). A kind that is not named is told.",
    )
    lexicons: dict[LexiconKind, dict[str, list[str]]] = Field(
        default_factory=dict,
        description="Further entries by kind and language, e.g. `profanity: {en: !lines lexicons/profanity.en.txt}`; "
        "off_topic has only these.",
    )
    packaged_lexicons: tuple[Packaged, ...] = Field(
        default=get_args(Packaged),
        description="The kinds whose own lists count beside those of the pipeline.",
    )
    languages: tuple[str, ...] = Field(
        default=(),
        description="Languages that are answered; a question that is plainly in another is refused. Empty: all are.",
    )
    resources: dict[str, list[Resource]] = Field(
        default_factory=dict,
        description="Services for people in danger by region (ISO 3166; `any` elsewhere), in place of the packaged "
        "ones of that region.",
    )
    region: str = Field(
        default="",
        description="The region of askers who do not say theirs (by `client.region` or a language hint like `fr-CA`).",
    )
    injection_model: str = Field(
        default="",
        description="File of a classifier that `answerbus train injections` made; empty: rules only.",
    )
    injection_threshold: float = Field(
        default=0.5, gt=0, lt=1, description="Probability from which the classifier objects."
    )
    guardrails_colang: str = Field(
        default="",
        description="Colang 1 flows of NeMo Guardrails (extra `guardrails`), e.g. `!file guardrails/rails.co`; empty: "
        "none.",
    )
    guardrails_config: str = Field(
        default="",
        description="Their configuration in YAML (`rails: {input: {flows: [...]}, output: {flows: [...]}}`), "
        "e.g. `!file ...`. Output flows look at answers where `verifier.guardrails` is on.",
    )
    guardrails_fail: Literal["open", "closed"] = Field(
        default="open",
        description="When guardrails cannot start, or answer in time: open lets the question or answer through "
        "with a warning and a metric, closed rejects it.",
    )
    guardrails_seconds: float = Field(
        default=5.0,
        gt=0,
        description="How long guardrails have, starting included, and never more than a third of the time that is "
        "left; beside the steps of a model, not after them.",
    )
    messages: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="Replaces what the asker is told: rejection kind (or greeting, thanks, emergency) -> language -> "
        "text.",
    )
    default_language: str = Field(default="eng", description="The language of messages when the asker's is unknown.")

    @field_validator("search_url")
    @classmethod
    def _takes_a_query(cls, url: str) -> str:
        if url and "{query}" not in url:
            raise ValueError("the search URL needs a {query} to put the question in")
        return url

    @field_validator("languages")
    @classmethod
    def _codes(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        codes = tuple(dict.fromkeys(map(code3, languages)))
        if UNKNOWN in codes:
            raise ValueError("a language that is not known here")
        return codes

    @model_validator(mode="after")
    def _compiles(self) -> ModerationSettings:
        """The lexicons are compiled, and every entry tried, before a question needs them."""
        try:
            compiled(self._lists())
        except LexiconError as error:
            raise ValueError(str(error)) from None
        return self

    @cached_property
    def lexicon(self) -> Lexicon:
        """Every list of the pipeline, compiled."""
        return compiled(self._lists())

    def _lists(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        own = (
            (kind, language, tuple(lines)) for kind, lists in self.lexicons.items() for language, lines in lists.items()
        )
        return (*(one for one in packaged() if one[0] in self.packaged_lexicons), *own)

    def policy(self, kind: PrivateKind) -> Policy:
        return self.pii.get(kind, "redact" if kind in _REDACTED else "block")

    def outcome(self, kind: RejectionKind) -> Outcome:
        return self.outcomes.get(kind, "tell")

    def texts(self, kind: str) -> dict[str, str]:
        """The messages of one rejection kind by language: the pipeline's over the defaults."""
        return self.messages.get(kind) or DEFAULT_MESSAGES.get(kind, {})

    def services(self, region: str, language: str) -> list[tuple[str, str]]:
        """Address and title of the services for people in danger in the region, else in `region`, else anywhere."""
        for place in (region.upper(), self.region.upper(), "any"):
            if place in self.resources:
                return [(one.url, localised(one.title, language)) for one in self.resources[place]]
            if place in DEFAULT_RESOURCES:
                known = (Resource.model_validate(one) for one in DEFAULT_RESOURCES[place])
                return [(one.url, localised(one.title, language)) for one in known]
        return []
