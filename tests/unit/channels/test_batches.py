"""Messages become questions: windows, mentions, edits, deletions, redelivery; with a clock that the test moves."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from channels.messages import ChatReaction, MessageDeletion, MessageEdit
from tests.support.channels import Rig, ended, settle


async def test_messages_within_the_quiet_window_become_one_question() -> None:
    async with Rig() as rig:
        rig.says("Hello.", "m1")
        await rig.clock.advance(4)
        rig.says("What is the rent?", "m2")
        await rig.clock.advance(4.9)
        assert rig.gateway.texts == []
        await rig.clock.advance(0.2)

        assert rig.gateway.texts == ["Hello.\nWhat is the rent?"]
        assert rig.posted == ["Answer 1."]
        assert rig.platform.targets[0].messages == ("m1", "m2")
        assert rig.platform.targets[0].message == "m2"


async def test_a_window_is_not_longer_than_the_longest() -> None:
    async with Rig(longest_seconds=12) as rig:
        for number in range(4):
            rig.says(f"part {number}", f"m{number}")
            await rig.clock.advance(4)

        assert rig.gateway.texts == ["part 0\npart 1\npart 2"]


async def test_users_chats_and_threads_have_windows_of_their_own() -> None:
    async with Rig() as rig:
        rig.says("a", "m1", "ann")
        rig.says("b", "m2", "bob")
        rig.says("c", "m3", "ann", "thread")
        rig.says("d", "m1", "ann", chat="other")
        await rig.clock.advance(5)

        assert sorted(rig.gateway.texts) == ["a", "b", "c", "d"]
        assert len({one.conversation_id for one in rig.gateway.asked}) == 3  # ann's in the room is one
        assert {one.asker for one in rig.gateway.asked} == {"test:ann", "test:bob"}


async def test_a_thread_is_one_conversation_of_all_its_people_where_the_channel_says_so() -> None:
    async with Rig(conversation="thread") as rig:
        rig.says("a", "m1", "ann", starts_thread="m1")
        await rig.clock.advance(5)
        rig.says("b", "m2", "bob", "m1")
        await rig.clock.advance(5)

        first, second = rig.gateway.asked
        assert (first.conversation_id, first.asker) == (second.conversation_id, second.asker)


@pytest.mark.parametrize(
    ("when", "message", "answered"),
    [
        ({}, {"direct": True}, True),
        ({"direct": False}, {"direct": True}, False),
        ({}, {}, False),
        ({}, {"mentioned": True}, True),
        ({}, {"reply_to_bot": True}, True),
        ({"messages": "all"}, {}, True),
        ({"messages": "all"}, {"from_bot": True}, False),
        ({"messages": "none"}, {"mentioned": True}, False),
        ({"messages": "none"}, {"direct": True}, True),
        ({}, {"direct": True, "from_bot": True}, False),
        ({}, {"direct": True, "text": "  "}, False),
    ],
)
async def test_rules_say_which_messages_are_answered(
    when: dict[str, object], message: dict[str, object], answered: bool
) -> None:
    async with Rig(answer=when) as rig:
        rig.says(**{"text": "What is the rent?", "direct": False, **message})  # type: ignore[arg-type]
        await rig.clock.advance(5)

        assert bool(rig.gateway.asked) is answered


async def test_a_thread_in_which_the_bot_answered_needs_no_mention() -> None:
    async with Rig() as rig:
        rig.says("What is the rent?", "m1", direct=False, mentioned=True, starts_thread="m1")
        await rig.clock.advance(5)
        rig.says("And the water?", "m2", "bob", "m1", direct=False)
        rig.says("Elsewhere.", "m3", "bob", "m0", direct=False)
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["What is the rent?", "And the water?"]
        assert [target.thread for target in rig.platform.targets] == ["m1", "m1"]


async def test_what_follows_a_mention_within_the_window_belongs_to_the_question() -> None:
    async with Rig() as rig:
        rig.says("Bot, please:", "m1", direct=False, mentioned=True)
        rig.says("what is the rent?", "m2", direct=False)
        rig.says("Not for you.", "m3", "bob", direct=False)
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["Bot, please:\nwhat is the rent?"]


async def test_a_mention_alone_announces_what_follows_and_is_no_question_itself() -> None:
    async with Rig() as rig:
        rig.says("", "m1", direct=False, mentioned=True)
        rig.says("What is the rent?", "m2", direct=False)
        rig.says(" ", "m3", "bob", direct=False, mentioned=True)
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["What is the rent?"]


async def test_in_a_topic_of_a_forum_every_question_needs_a_mention() -> None:
    async with Rig() as rig:
        rig.platform.answers_open_threads = False
        rig.says("What is the rent?", "m1", thread="topic", direct=False, mentioned=True)
        await rig.clock.advance(5)
        rig.says("Nice weather.", "m2", "bob", "topic", direct=False)
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["What is the rent?"]


async def test_chats_that_are_not_listed_are_not_served() -> None:
    async with Rig(chats=["room"]) as rig:
        rig.says("a", "m1")
        rig.says("b", "m2", chat="other")
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["a"]


async def test_a_message_that_is_delivered_again_is_asked_once() -> None:
    async with Rig() as rig:
        rig.says("a", "m1")
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.says("a", "m1")
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["a"]


async def test_the_same_messages_have_the_same_idempotency_key_after_a_restart() -> None:
    keys = []
    for _ in range(2):
        async with Rig() as rig:
            rig.says("a", "m1")
            rig.says("b", "m2")
            await rig.clock.advance(5)
            keys += [one.idempotency_key for one in rig.gateway.asked]
    async with Rig() as rig:
        rig.says("a", "m1")
        await rig.clock.advance(5)
        keys += [one.idempotency_key for one in rig.gateway.asked]

    assert keys[0] == keys[1] != keys[2]
    assert all(len(key) <= 255 for key in keys)


async def test_an_edit_within_the_window_replaces_the_text() -> None:
    async with Rig() as rig:
        rig.says("What is the rnet?", "m1")
        rig.says("Please.", "m2")
        rig.dispatcher.receive(MessageEdit("m1", "room", "What is the rent?"))
        rig.dispatcher.receive(MessageEdit("m2", "elsewhere", "no"))
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["What is the rent?\nPlease."]


async def test_a_deletion_within_the_window_takes_the_message_back() -> None:
    async with Rig() as rig:
        rig.says("secret", "m1")
        rig.says("What is the rent?", "m2")
        rig.says("only", "m3", "bob")
        rig.dispatcher.receive(MessageDeletion("m1", "room"))
        rig.dispatcher.receive(MessageDeletion("m3", "room"))
        await rig.clock.advance(5)

        assert rig.gateway.texts == ["What is the rent?"]


async def test_an_edit_after_the_answer_is_ignored_unless_the_channel_asks_again() -> None:
    for edits, asked, replies in (("ignore", ["a"], []), ("ask_again", ["a", "b"], ["reply-1"])):
        async with Rig(edits=edits) as rig:
            rig.says("a", "m1")
            await rig.clock.advance(5)
            rig.dispatcher.receive(MessageEdit("m1", "room", "a"))  # a preview was added
            rig.dispatcher.receive(MessageEdit("m1", "room", "b"))
            await settle()

            assert rig.gateway.texts == asked
            assert rig.platform.deleted == replies  # the former answer makes way for the new one
            assert len(rig.posted) == len(asked)


async def test_an_edit_while_the_answer_is_written_withdraws_the_former_question() -> None:
    async with Rig(edits="ask_again") as rig:
        rig.gateway.hold()
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.dispatcher.receive(MessageEdit("m1", "room", "b"))
        await settle()
        rig.gateway.release()
        await settle()

        assert rig.gateway.withdrawn == ["q1"]
        assert rig.posted == ["Answer 2."]


async def test_a_deletion_while_the_answer_is_written_withdraws_the_question_and_posts_nothing() -> None:
    async with Rig() as rig:
        rig.gateway.hold()
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.dispatcher.receive(MessageDeletion("m1", "room"))
        await settle()
        rig.gateway.release()
        await settle()

        assert rig.gateway.withdrawn == ["q1"]
        assert rig.posted == []


async def test_when_one_of_several_messages_is_deleted_the_others_are_asked_again() -> None:
    async with Rig() as rig:
        rig.gateway.hold()
        rig.says("secret", "m1")
        rig.says("What is the rent?", "m2")
        await rig.clock.advance(5)
        rig.dispatcher.receive(MessageDeletion("m1", "room"))
        await settle()
        rig.gateway.release()
        await settle()

        assert rig.gateway.withdrawn == ["q1"]
        assert rig.gateway.texts[1:] == ["What is the rent?"]
        assert rig.posted == ["Answer 2."]


@pytest.mark.parametrize(("setting", "deleted"), [(True, ["reply-1", "reply-2"]), (False, [])])
async def test_the_answer_to_a_deleted_question_is_deleted_where_the_channel_says_so(
    setting: bool, deleted: list[str]
) -> None:
    async with Rig(delete_replies=setting) as rig:
        rig.gateway.results["q1"] = ended("q1", "one|two")
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.dispatcher.receive(MessageDeletion("m1", "room"))
        await settle()

        assert rig.platform.deleted == deleted


@pytest.mark.parametrize(
    ("setting", "user", "rated"),
    [("asker", "ann", True), ("asker", "bob", False), ("anyone", "bob", True), ("off", "ann", False)],
)
async def test_a_reaction_to_an_answer_rates_it(setting: str, user: str, rated: bool) -> None:
    async with Rig(ratings=setting) as rig:
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.dispatcher.receive(ChatReaction("reply-1", "room", user, "up"))
        rig.dispatcher.receive(ChatReaction("m1", "room", user, "down"))
        await settle()

        assert rig.gateway.rated == ([("q1", "up")] if rated else [])


async def test_questions_of_a_conversation_are_answered_in_their_order() -> None:
    async with Rig() as rig:
        rig.gateway.hold()
        rig.says("a", "m1")
        await rig.clock.advance(5)
        rig.says("b", "m2")
        rig.says("c", "m3", "bob")
        await rig.clock.advance(5)
        assert rig.gateway.texts == ["a", "c"]
        rig.gateway.release()
        await settle()

        assert rig.gateway.texts == ["a", "c", "b"]


async def test_what_is_being_collected_is_asked_and_answered_at_the_end() -> None:
    rig = Rig()
    async with rig:
        rig.says("a", "m1")
        await settle()
        await rig.dispatcher.close(60)

    assert rig.posted == ["Answer 1."]
    assert rig.platform.calls[-1] == "close"


async def test_windows_and_their_ends_are_in_the_debug_log() -> None:
    with capture_logs() as logs:
        async with Rig() as rig:
            rig.says("a secret", "m1")
            await rig.clock.advance(2)
            rig.says("b", "m2")
            await rig.clock.advance(5)

    named = [line["event"] for line in logs if line["event"].startswith("user_batch")]
    assert named == ["user_batch_wait", "user_batch_wait", "user_batch_process_start", "user_batch_process_end"]
    assert "a secret" not in str(logs)
