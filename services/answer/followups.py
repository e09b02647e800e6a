"""What the person may want next after structured results: from the fast model, else by rule."""

from __future__ import annotations

from pydantic import BaseModel, Field

from services.answer import prompts
from services.answer.settings import AnswerSettings
from services.answer.structured_answers import in_words
from shared.contracts.domain import Question
from shared.contracts.errors import ModelError
from shared.contracts.payloads import (
    ContentRecommendationsPayload,
    ExpertAvailabilityPayload,
    ExpertProfilesPayload,
    Payload,
)
from shared.llm.ports import Models
from shared.llm.prompt_blocks import DATA_RULES, blocks
from shared.llm.prompts import assemble
from shared.text.languages import localised

STEP = "followups"
MOST = 3
_CHARS = 160
_LIMIT = 4000

_RULES = f"""{DATA_RULES}

Reply with at most {MOST} questions, each at most {_CHARS} characters, in the language that is named."""

_TEMPLATES: dict[str, dict[str, str]] = {
    "when": {"en": "When is {name} free?", "fr": "Quand {name} est-il disponible ?"},
    "book": {"en": "Book {time} with {name}", "fr": "Réserver {time} avec {name}"},
    "other_kind": {"en": "Show me {kind} about {topic}", "fr": "Montre-moi des {kind} sur {topic}"},
    "talk": {"en": "I want to talk to someone about {topic}", "fr": "Je voudrais parler de {topic} à quelqu'un"},
    "prepare": {"en": "How can I prepare for the session?", "fr": "Comment puis-je me préparer à la séance ?"},
}
_KINDS = {"articles": {"en": "articles", "fr": "articles"}, "videos": {"en": "videos", "fr": "vidéos"}}


class Proposed(BaseModel):
    """What the model replies."""

    questions: list[str] = Field(default_factory=list)


async def follow_up(
    models: Models, payload: Payload, question: Question, answer: str, settings: AnswerSettings
) -> tuple[str, ...]:
    """Up to three next questions, in the asker's language."""
    if models.has("fast"):
        system = assemble(settings.followups_prompt, settings.project_introduction, _RULES)
        data = {
            "question": question.text,
            "answer": answer,
            "results": payload.model_dump_json(exclude_defaults=True),
            "language": prompts.language_name(question),
        }
        try:
            said = await models.invoke("fast", STEP, system, blocks(data, limit=_LIMIT), Proposed)
        except ModelError:
            return by_rule(payload, question.language)
        proposed = dict.fromkeys(" ".join(one.split())[:_CHARS] for one in said.questions)
        return tuple(one for one in proposed if one)[:MOST] or by_rule(payload, question.language)
    return by_rule(payload, question.language)


def by_rule(payload: Payload, language: str) -> tuple[str, ...]:
    """The next step of each kind of result."""

    def said(template: str, /, **values: str) -> str:
        return localised(_TEMPLATES[template], language).format(**values)

    if isinstance(payload, ExpertProfilesPayload):
        return tuple(said("when", name=expert.name) for expert in payload.experts[:MOST])
    if isinstance(payload, ExpertAvailabilityPayload):
        name = payload.expert.name
        return tuple(said("book", time=f"{one.starts_at:%Y-%m-%d %H:%M}", name=name) for one in payload.slots[:MOST])
    if isinstance(payload, ContentRecommendationsPayload):
        kinds = {item.kind for item in payload.items}
        topic = payload.topic or in_words(payload, language)
        others = [localised(names, language) for kind, names in _KINDS.items() if kind not in kinds]
        return (*(said("other_kind", kind=kind, topic=topic) for kind in others), said("talk", topic=topic))
    return (said("prepare"),)
