"""The models of the intranet pipeline: what they reply to each step, by what they are asked."""

from __future__ import annotations

import html
import re

from tests.support.model_server import Asked, Scripted

#: What the document calls the models of its two steps, and its embedding model with its dimensions.
FAST, MAIN, EMBED, DIMENSIONS = "gpt-5-nano", "gpt-5-mini", "text-embedding-3-large", 3072

OPTIONS = ["Password", "Two-factor authentication", "Workday settings"]
ASKED_BACK = "Could you clarify what you need to reset?"
#: What a question of a conversation means, by its text and a word of what was said before.
MEANS = {
    ("Password", "reset"): "How do I reset my password?",
    ("What's the deadline?", "travel reimbursement"): "What's the deadline for travel reimbursement submission?",
    ("What's the deadline?", "purchasing card"): "What's the deadline for uploading purchasing card receipts?",
}
#: The answer to a question, by words of it; the first that fits. It cites the passage that has it.
ANSWERS = {
    "uploading purchasing card": "The receipts of a month are uploaded until the tenth day of the next month. [1]",
    "purchasing card": "A purchase below 5,000 dollars is paid with the purchasing card. [1]",
    "deadline for travel": "The deadline for travel reimbursement submission is 60 days after the end of the trip. [1]",
    "reset my password": (
        "To reset your password, open the account page and choose the link for a forgotten password. [1]"
    ),
    "FMLA": "Eligible employees may take up to 12 weeks of unpaid leave in a year. [1]",
    "travel reimbursement": "Claims are submitted in the travel portal with the receipts attached. [1]",
    "parking": "A parking permit costs 40 dollars a month and is taken from the salary. [1]",
}


def block(name: str, text: str) -> str:
    """The text of the last block of a name; empty where there is none."""
    found = re.findall(rf"<{name}(?: [^>]*)?>\n(.*?)\n</{name}>", text, re.DOTALL)
    return html.unescape(found[-1]).strip() if found else ""


def step_of(asked: Asked) -> str:
    """The step that a call is made for."""
    if asked.path.endswith("/embeddings"):
        return "embed"
    fields = asked.schema["properties"] if asked.schema else {}
    return next(
        (step for step, field in (("restate", "clarification"), ("rerank", "order")) if field in fields), "answer"
    )


def answered(asked: Asked) -> Scripted:
    """The reply to one call of a model."""
    step, question = step_of(asked), block("question", asked.user)
    if step == "restate":
        if question == "How do I reset it?":
            return {"question": question, "clarification": ASKED_BACK, "options": OPTIONS}
        means = next((to for (text, word), to in MEANS.items() if text == question and word in asked.user), question)
        return {"question": means, "clarification": "", "options": []}
    if step == "rerank":
        dates = re.findall(r'<passage number="(\d+)" date="([^"]*)">', asked.user)
        newest_first = sorted(dates, key=lambda one: one[1] if one[1] != "unknown" else "", reverse=True)
        return {"order": [int(number) for number, _ in newest_first]}
    if not asked.streams:
        return None
    means = next((to for (text, word), to in MEANS.items() if text in question and word in asked.user), question)
    text = next((say for words, say in ANSWERS.items() if words in means), "")
    text = text.replace("[1]", f"[{_passage_with(text.partition(' [')[0], asked.user)}]")
    return f"<answer><s-1>{text}</s-1></answer><confidence>9</confidence>" if text else "<not-found></not-found>"


def _passage_with(sentence: str, prompt: str) -> str:
    """The number of the first passage that contains the beginning of the sentence; 1 where none does."""
    passages = re.findall(r'<passage (?:[^>]* )?number="(\d+)"[^>]*>\n(.*?)\n</passage>', prompt, re.DOTALL)
    beginning = sentence.rstrip(".")[:60]
    return next((number for number, text in passages if beginning in " ".join(html.unescape(text).split())), "1")
