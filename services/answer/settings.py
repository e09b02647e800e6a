"""The `answer` section of a pipeline."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shared.contracts.pipelines import PromptedSection

#: Language -> what the asker reads when the passages do not answer the question.
DEFAULT_NOT_FOUND = {
    "en": "I could not find an answer to this question in the documents I have.",
    "fr": "Je n'ai pas trouvé de réponse à cette question dans les documents dont je dispose.",
}

DEFAULT_CHAT_PROMPT = """\
You answer people's questions from passages of documents that are given to you.
Answer what was asked, plainly and briefly, and only with what the passages say. When they answer a part only, answer
that part and say what is missing. Prefer newer passages where two disagree."""

DEFAULT_AGENT_PROMPT = """\
You help people in a conversation. Use the tools you have where they help: search before you say that you do
not know, and use several tools at once where one does not depend on another. Do not use a tool for what you know from
the conversation. Never invent experts, times, pages or bookings: they come from tools. Book only what the person asked
for and only at a time that a tool has shown to be free."""

DEFAULT_FOLLOWUPS_PROMPT = """\
Propose up to three short questions or requests the person may want to put next, after the results they
have just been shown. Write them as the person would, in the person's language."""

ToolName = Literal[
    "search_context",
    "download_web_page",
    "check_url_status",
    "search_content",
    "search_experts",
    "get_expert_availability",
    "book_session",
]


class AnswerSettings(PromptedSection):
    """How answers are written, and when there is none."""

    engine: Literal["auto", "extractive", "chat", "agent"] = Field(
        default="auto",
        description="extractive: the best sentences of the passages, word for word; chat: a model writes from the "
        "passages; agent: a model that uses tools; auto: chat where a model plays `main`, else extractive.",
    )
    format: Literal["tags", "json"] = Field(
        default="tags", description="In which form the model is asked to write: with tags, or as one JSON object."
    )
    stream: Literal["draft", "verified"] = Field(
        default="draft",
        description="draft: the asker reads along while the answer is written; verified: nothing before the verdict.",
    )
    chat_prompt: str = Field(
        default=DEFAULT_CHAT_PROMPT, min_length=1, description="What the model that writes from passages is told."
    )
    agent_prompt: str = Field(
        default=DEFAULT_AGENT_PROMPT, min_length=1, description="What the model that uses tools is told."
    )
    followups_prompt: str = Field(
        default=DEFAULT_FOLLOWUPS_PROMPT,
        min_length=1,
        description="How the model proposes next questions after structured results.",
    )
    clarify: bool = Field(
        default=True, description="Whether the model may ask back instead of answering; never twice in a row."
    )
    reserve_seconds: float = Field(
        default=3.0,
        ge=0,
        description="How long before the deadline, at most a quarter of what is left of it, the sentences of the "
        "passages are quoted instead of waiting on for the model.",
    )
    max_sentences: int = Field(default=4, ge=1, le=12, description="The most sentences an answer has.")
    max_answer_chars: int = Field(default=1200, ge=80, description="The longest answer, in characters.")
    max_passage_chars: int = Field(
        default=4000,
        ge=200,
        description="How much of one passage, page or tool result the model is shown, in characters.",
    )
    min_coverage: float = Field(
        default=0.51,
        ge=0,
        le=1,
        description="The share of the question's words that the quoted sentences and the title of one source must "
        "speak of; with less the answer is `not_found`. The default asks for more than half. 0: always answer.",
    )
    max_links: int = Field(
        default=3, ge=0, description="How many pages a `not_found` answer, and one that a model wrote, points to."
    )
    links_section: bool = Field(
        default=False, description="Whether the pages cited also stand at the end of the text, under a heading."
    )
    not_found: dict[str, str] = Field(
        default_factory=dict, description="Replaces what the asker reads then: language -> text."
    )
    tools: tuple[ToolName, ...] = Field(
        default=("search_context", "download_web_page", "check_url_status"),
        description="What the agent may use.",
    )
    max_steps: int = Field(
        default=5, ge=1, le=20, description="How often the agent is asked at most; the last time without tools."
    )
    max_parallel_calls: int = Field(default=4, ge=1, le=16, description="Tool calls of one step that are made.")
    tool_seconds: float = Field(default=10.0, gt=0, description="How long one tool may take.")
    max_page_bytes: int = Field(
        default=2_000_000, ge=1000, description="The largest web page that is downloaded, in bytes."
    )
    web_allow: tuple[str, ...] = Field(
        default=(), description="The only hosts pages are downloaded from (`example.org`, `*.example.org`); empty: any."
    )
    web_deny: tuple[str, ...] = Field(default=(), description="Hosts no page is downloaded from.")
    uncited: bool = Field(
        default=False,
        description="Whether what the agent says without citing anything (a greeting, a question back, comfort) may "
        "pass as it is; otherwise every sentence needs its source.",
    )
