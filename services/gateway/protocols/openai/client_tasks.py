"""What chat clients want of a model besides answers: a title, tags, further questions or an emoji for a conversation.

Such a message is an instruction together with the conversation, in the message itself (`### Task: ...` and
`<chat_history>`) or as the messages before it. It is no question about the documents: it is answered by rule, in the
form it asks for, and nobody is asked. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, get_args

from shared.language.packs import PackFile, Patterns, Words, either, once, phrase, read

Task = Literal["title", "tags", "follow_ups", "queries", "emoji"]

#: A conversation within a message: between tags, or as lines that begin with who speaks.
_OPENING = re.compile(r"<(chat_history|chat|conversation|messages|history)>", re.IGNORECASE)
_TURN = re.compile(
    r"^[ \t|>#*-]{0,8}(?P<role>user|human|assistant|ai|response|bot)[ \t*]{0,4}:[ \t*]{0,4}(?P<text>[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_ASKERS = ("user", "human")


class ClientTaskWords(PackFile):
    """How instructions of chat clients are worded: a verb at their beginning, and what is wanted of a conversation.

    `before_verbs` may come before a verb, `counted` after a number of words.
    """

    file = "client_tasks"
    before_verbs: Patterns = ()
    verbs: Patterns = ()
    tasks: dict[Task, Patterns] = {}
    conversations: Words = ()
    counted: Patterns = ()


_LANGUAGES = tuple(read(ClientTaskWords).values())
_VERB = re.compile(
    rf"(?:^|[.:#\n]|{either(once(words.before_verbs for words in _LANGUAGES))})[\s:#*-]{{0,8}}(?:\w+ly )?"
    rf"{either(once(words.verbs for words in _LANGUAGES))}\b",
    re.IGNORECASE,
)
#: The tasks by their names; the first that an instruction names counts, as a title may be wanted with emojis.
_WANTED = tuple(
    (task, re.compile(rf"\b{either(once(words.tasks.get(task, ()) for words in _LANGUAGES))}\b", re.IGNORECASE))
    for task in get_args(Task)
)
_OF_CONVERSATION = re.compile(rf"\b{phrase(words.conversations for words in _LANGUAGES)}\b", re.IGNORECASE)
_WORDS = re.compile(
    rf"\b(\d{{1,2}})(?:\s?-\s?(\d{{1,2}}))?[ -]{either(once(words.counted for words in _LANGUAGES))}\b", re.IGNORECASE
)
_JSON = re.compile(r"\bjson\b|\{\s*\"", re.IGNORECASE)
#: Words of a title where no number is asked for, and characters of an instruction without its conversation.
_TITLE_WORDS, _LONGEST = 6, 4000


class SpokenTurn(NamedTuple):
    """A message of the conversation that the task is about."""

    by_asker: bool
    text: str


class _Block(NamedTuple):
    """A conversation at `[start:end]` of a message, with its tags; `turns` is what stands between them."""

    start: int
    end: int
    turns: str


def reply_to_task(text: str, earlier: Sequence[SpokenTurn] = ()) -> str | None:
    """The reply to a message that is such a task, in the form it asks for; None where it is a question.

    `earlier` are the messages before it.
    """
    instruction, turns = _divided(text)
    if not turns:
        if not _OF_CONVERSATION.search(text):
            return None
        turns = list(earlier)
    spoken = {turn.by_asker for turn in turns}
    if len(instruction) > _LONGEST or True not in spoken or not _VERB.search(instruction):
        return None
    named = [(match.start(), task) for task, wanted in _WANTED if (match := wanted.search(instruction))]
    if not named:
        return None
    _, task = min(named)
    questions = [turn.text for turn in turns if turn.by_asker and turn.text.strip()]
    return _reply(task, questions, instruction) if questions else None


def _divided(text: str) -> tuple[str, list[SpokenTurn]]:
    """The instruction, and the conversation that stands in the same message."""
    block = _block(text)
    found = list(_TURN.finditer(block.turns if block else text))
    turns = [SpokenTurn(turn["role"].lower() in _ASKERS, _said(turn, following)) for turn, following in _pairs(found)]
    if block:
        return f"{text[: block.start]}\n{text[block.end :]}", turns
    if {turn.by_asker for turn in turns} != {True, False}:
        return text, []
    return text[: found[0].start()], turns


def _block(text: str) -> _Block | None:
    """The first conversation between tags."""
    lower, unclosed = text.lower(), set[str]()
    for opening in _OPENING.finditer(text):
        closing = f"</{opening[1].lower()}>"
        end = -1 if closing in unclosed else lower.find(closing, opening.end())
        if end >= 0:
            return _Block(opening.start(), end + len(closing), text[opening.end() : end])
        unclosed.add(closing)
    return None


def _pairs(turns: list[re.Match[str]]) -> list[tuple[re.Match[str], re.Match[str] | None]]:
    return list(zip_longest(turns, turns[1:]))


def _said(turn: re.Match[str], following: re.Match[str] | None) -> str:
    """What was said: in the line of who speaks, else in the lines up to the next one."""
    rest = turn.string[turn.end() : following.start() if following else len(turn.string)]
    return (turn["text"].strip() or rest).strip().strip('"').strip()


def _reply(task: Task, questions: list[str], instruction: str) -> str:
    as_json = bool(_JSON.search(instruction))
    if task == "title":
        title = _title(questions[0], instruction)
        return json.dumps({"title": title}, ensure_ascii=False) if as_json else title
    if task == "emoji":
        return "💬"
    values = [questions[-1]] if task == "queries" else []
    return json.dumps({task: values}, ensure_ascii=False) if as_json else "\n".join(values)


def _title(question: str, instruction: str) -> str:
    """The first words of the question that began the conversation, as many as are asked for."""
    asked = _WORDS.search(instruction)
    most = int(asked[2] or asked[1]) if asked else _TITLE_WORDS
    words = question.split()[: max(1, most)]
    return " ".join(words).strip(" .,;:!?¿¡\"'")
