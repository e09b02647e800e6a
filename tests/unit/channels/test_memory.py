"""What the adapter remembers of questions that were asked, and how long."""

from __future__ import annotations

from channels.batches import BatchKey, MessageBatch
from channels.exchanges import ChatExchange, ExchangeMemory
from channels.messages import ChatMessage, ChatPlace
from channels.ports import ReplyTarget


def exchange(*ids: str) -> ChatExchange:
    place = ChatPlace("room")
    batch = MessageBatch(BatchKey(place, "ann"), tuple(ChatMessage(one, place, "ann", "text") for one in ids))
    return ChatExchange(batch, ReplyTarget("room", ids[-1], "ann"), "test:ann", "c")


def test_the_oldest_questions_are_forgotten_with_their_messages_and_replies() -> None:
    memory = ExchangeMemory(2)
    first, second, third = exchange("m1", "m2"), exchange("m3"), exchange("m4")
    for number, one in enumerate((first, second, third)):
        memory.add(one)
        memory.replied(one, f"r{number}")

    assert [memory.of_message("room", one) for one in ("m1", "m2", "m3", "m4")] == [None, None, second, third]
    assert [memory.of_reply("room", one) for one in ("r0", "r1", "r2")] == [None, second, third]
    assert memory.of_message("other", "m3") is None


def test_a_message_belongs_to_the_question_that_was_asked_last_with_it() -> None:
    memory = ExchangeMemory(2)
    former, again = exchange("m1"), exchange("m1")
    memory.add(former)
    memory.add(again)
    memory.add(exchange("m2"))

    assert memory.of_message("room", "m1") is again
