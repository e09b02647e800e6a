"""What happens in a chat, in the words of no platform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: How a reaction or a webhook rates an answer.
RatingName = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """Where something is said: a chat and, where the platform has them, a thread of it.

    `direct` is true where nobody but the user and the bot reads along.
    """

    chat: str
    thread: str = ""
    direct: bool = False


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a person or a bot; `id` is unique within the chat.

    `text` is plain text without the mention of the bot. `mentioned`: it names the bot; `reply_to_bot`: it replies to a
    message of the bot. `starts_thread` is the thread that a reply to it opens, where its place is not in a thread.
    """

    id: str
    place: ChatPlace
    user: str
    text: str
    mentioned: bool = False
    reply_to_bot: bool = False
    from_bot: bool = False
    starts_thread: str = ""


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """A message has another text now."""

    id: str
    chat: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageDeletion:
    """A message is gone."""

    id: str
    chat: str


@dataclass(frozen=True, slots=True)
class ChatReaction:
    """Somebody rates the message `id`."""

    id: str
    chat: str
    user: str
    rating: RatingName


ChannelEvent = ChatMessage | MessageEdit | MessageDeletion | ChatReaction
