"""Which messages are answered."""

from __future__ import annotations

from channels.messages import ChatMessage
from channels.settings import AnswerWhen


def is_answered(message: ChatMessage, when: AnswerWhen, *, takes_part: bool) -> bool:
    """Whether the message is a question to the bot; `takes_part`: the bot has written in this thread before.

    Messages of bots, its own among them, are never answered, nor are those without text, except that a mention alone
    announces what its author writes next.
    """
    if message.from_bot or not (message.mentioned or message.text.strip()):
        return False
    if message.place.direct and when.direct:
        return True
    if when.messages == "all":
        return True
    if message.mentioned or message.reply_to_bot:
        return when.messages == "mentions"
    return when.threads and takes_part
