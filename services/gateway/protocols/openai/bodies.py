"""Bodies of the OpenAI API, and the question that they ask. Fields that mean nothing here are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from services.gateway.asking.client_turns import turns_of_messages
from services.gateway.http.question_body import QuestionIn
from services.gateway.protocols.openai.errors import BadRequestError
from shared.contracts.domain import Turn
from shared.contracts.pseudonyms import USER

#: The model that stands for the server's default pipeline.
DEFAULT_MODEL = "answerbus"
#: When the text of a streamed answer is sent: once it is verified, or as it is written.
Streaming = Literal["verified", "draft"]
_TEXT_PARTS = ("text", "input_text", "output_text")
#: A key of `metadata`, for clients that can send no other field.
_CONVERSATION = "conversation_id"


class IgnoringModel(BaseModel):
    """Clients send many fields that have no meaning here, and new ones with every version."""

    model_config = ConfigDict(extra="ignore")


class PartIn(IgnoringModel):
    """A part of a message; only text can be asked."""

    type: str
    text: str = ""


class MessageIn(IgnoringModel):
    """A message of the conversation."""

    role: str = "user"
    type: str = "message"
    content: str | list[PartIn] | None = None

    def plain(self, place: str) -> str:
        """The text of the message.

        Raises:
            BadRequestError: it has other parts than text.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.type not in _TEXT_PARTS:
                raise BadRequestError(f"only text can be asked, not {part.type!r}; send parts of type text", place)
        return "\n".join(part.text for part in self.content)


class ExtensionIn(BaseModel):
    """The field `answerbus` of a request: what the OpenAI API has no field for."""

    model_config = ConfigDict(extra="forbid")

    conversation_id: str = Field(default="", description="Questions with the same id follow up on each other.")
    collections: list[str] = Field(default=[], max_length=100, description="Answer from documents of these only.")
    language: str = Field(default="", max_length=16, description="Hint, ISO 639; default: detected.")
    stream: Streaming = Field(
        default="verified",
        description="`verified`: text is sent when it is verified. `draft`: as it is written; a draft that does not "
        "hold ends the stream with an error, as text cannot be taken back.",
    )
    sources: bool | None = Field(default=None, description="Whether the numbered sources are listed below the text.")


class StreamOptionsIn(IgnoringModel):
    include_usage: bool = False


class AskingIn(IgnoringModel):
    """What the bodies of chat completions and responses have in common."""

    model: str = Field(default=DEFAULT_MODEL, max_length=100, description="A pipeline; `answerbus` is the default one.")
    stream: bool | None = False
    user: str | None = Field(default=None, max_length=2000, description="Whom the question is asked for.")
    metadata: dict[str, Any] | None = Field(default=None, max_length=16)
    tool_choice: str | dict[str, Any] | None = Field(
        default=None,
        description="`auto` and `none`: `tools` are ignored, as those of the pipeline run on the server. A call that "
        "is required is refused.",
    )
    function_call: str | dict[str, Any] | None = None
    answerbus: ExtensionIn = ExtensionIn()

    def asked(self, text: str, conversation_id: str = "") -> QuestionIn:
        """The question as the native route takes it.

        Raises:
            BadRequestError: the client wants a tool of its own to be called.
            ValidationError: the text is blank, or a value is too long.
        """
        for field, choice in (("tool_choice", self.tool_choice), ("function_call", self.function_call)):
            if _requires_call(choice):
                reason = "no tool of a client is called, the pipeline has its own; send auto or none, or leave it out"
                raise BadRequestError(reason, field)
        client = {str(name): str(value) for name, value in (self.metadata or {}).items() if name != _CONVERSATION}
        if self.user:
            client = {**dict(list(client.items())[:15]), USER: self.user}
        return QuestionIn(
            question=text,
            pipeline="" if self.model == DEFAULT_MODEL else self.model,
            conversation_id=conversation_id,
            language=self.answerbus.language,
            collections=self.answerbus.collections,
            client=client,
        )


def _requires_call(choice: str | dict[str, Any] | None) -> bool:
    """Whether a choice of a tool leaves no answer in words: a client that only offers tools gets one."""
    if isinstance(choice, dict):
        allowed = choice.get("allowed_tools", choice)  # chat completions nest it, responses do not
        mode = allowed.get("mode", choice.get("type")) if isinstance(allowed, dict) else allowed
        return mode not in ("auto", "none")
    return choice not in (None, "", "auto", "none")


class ChatCompletionIn(AskingIn):
    """The body of `POST /v1/chat/completions`."""

    messages: list[MessageIn] = Field(min_length=1, max_length=1000)
    n: int | None = 1
    stream_options: StreamOptionsIn | None = None
    conversation_id: str = ""

    def asked_with_turns(self) -> MessageTurns:
        """The question and the turns before it.

        Raises:
            BadRequestError: it cannot be asked here.
        """
        if self.n not in (None, 1):
            raise BadRequestError("one answer is given to a question; leave n out", "n")
        return message_turns(self.messages, "messages")

    @property
    def conversation_of_client(self) -> str:
        """The conversation that the client names in one of three places; empty where it sends its own history."""
        named = self.conversation_id or self.answerbus.conversation_id
        return named or str((self.metadata or {}).get(_CONVERSATION, ""))


@dataclass(frozen=True)
class MessageTurns:
    """The question, and the client's own account of the turns before it, oldest first."""

    question: str
    turns: tuple[Turn, ...]


def message_turns(messages: Sequence[MessageIn], field: str) -> MessageTurns:
    """The last message as the question, the earlier ones of user and assistant as turns.

    System and developer messages are left out: the pipeline has its own instructions.

    Raises:
        BadRequestError: the last message is not the user's, or one is no text.
    """
    last = len(messages) - 1
    if messages[last].role != "user":
        raise BadRequestError("the last message is the question; send it with the role user", f"{field}[{last}].role")
    earlier = [(one.role, one.plain(f"{field}[{number}].content")) for number, one in enumerate(messages[:last])]
    return MessageTurns(messages[last].plain(f"{field}[{last}].content"), turns_of_messages(earlier))


class ResponseIn(AskingIn):
    """The body of `POST /v1/responses`."""

    input: str | list[MessageIn]
    background: bool | None = False
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None

    def asked_with_turns(self) -> MessageTurns:
        """The question and the turns before it.

        Raises:
            BadRequestError: there is none, or it is no text.
        """
        if isinstance(self.input, str):
            return MessageTurns(self.input, ())
        messages = [message for message in self.input if message.type == "message"]
        if not messages:
            raise BadRequestError("send the question as text, or as a message of the user", "input")
        return message_turns(messages, "input")

    @property
    def conversation_of_client(self) -> str:
        """The conversation that the client names; empty where it names none."""
        named = self.conversation.get("id", "") if isinstance(self.conversation, dict) else self.conversation
        return str(named or self.answerbus.conversation_id)
