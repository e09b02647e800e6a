"""Questions that were asked, as long as somebody may edit, delete or rate what belongs to them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from channels.batches import MessageBatch
from channels.ports import ReplyTarget

#: Messages and threads, and questions with the texts of their messages, that are remembered.
MAX_REMEMBERED, MAX_EXCHANGES = 5_000, 1_000


@dataclass(slots=True, eq=False)
class ChatExchange:
    """A question of a batch, and what was posted about it. `replies` are the ids of the messages."""

    batch: MessageBatch
    target: ReplyTarget
    asker: str
    conversation_id: str
    question_id: str = ""
    replies: list[str] = field(default_factory=list)
    withdrawn: bool = False
    ended: bool = False


class RecentSet:
    """The keys that were added last."""

    def __init__(self, size: int = MAX_REMEMBERED) -> None:
        self._keys: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._size = size

    def __contains__(self, key: tuple[str, ...]) -> bool:
        return key in self._keys

    def add(self, *key: str) -> bool:
        """Add a key; false if it was there."""
        known = key in self._keys
        self._keys[key] = None
        self._keys.move_to_end(key)
        if len(self._keys) > self._size:
            self._keys.popitem(last=False)
        return not known


class ExchangeMemory:
    """The exchanges that were begun last, by their messages and by their replies."""

    def __init__(self, size: int = MAX_EXCHANGES) -> None:
        self._exchanges: OrderedDict[int, ChatExchange] = OrderedDict()
        self._by_message: dict[tuple[str, str], ChatExchange] = {}
        self._by_reply: dict[tuple[str, str], ChatExchange] = {}
        self._size = size

    def add(self, exchange: ChatExchange) -> None:
        """Remember it, in place of the one that its messages belonged to."""
        self._exchanges[id(exchange)] = exchange
        for message in exchange.batch.ids:
            self._by_message[exchange.target.chat, message] = exchange
        if len(self._exchanges) > self._size:
            self._drop(self._exchanges.popitem(last=False)[1])

    def replied(self, exchange: ChatExchange, message: str) -> None:
        """A reply was posted."""
        exchange.replies.append(message)
        if id(exchange) in self._exchanges:
            self._by_reply[exchange.target.chat, message] = exchange

    def of_message(self, chat: str, message: str) -> ChatExchange | None:
        """The exchange in which the message was asked."""
        return self._by_message.get((chat, message))

    def of_reply(self, chat: str, message: str) -> ChatExchange | None:
        """The exchange that the message of the bot belongs to."""
        return self._by_reply.get((chat, message))

    def _drop(self, exchange: ChatExchange) -> None:
        chat = exchange.target.chat
        for index, ids in ((self._by_message, exchange.batch.ids), (self._by_reply, tuple(exchange.replies))):
            for identifier in ids:
                if index.get((chat, identifier)) is exchange:
                    del index[chat, identifier]
