"""Prompt for the model that confirms whether two questions ask the same."""

from __future__ import annotations

from shared.llm.prompt_blocks import DATA_RULES

SAME_QUESTION = """\
You decide whether two questions ask the same, so that the right answer to one is the right answer to the other, whole
and in every detail. They do not where anything differs that could change the answer: who or what is asked about, a
place, a time, a number, a condition, a negation, who does what to whom, or what is asked for. When in doubt they do
not."""

RULES = f"""\
{DATA_RULES}

Reply with one JSON object and nothing else:
- "same": true or false
- "reason": why, in a few words"""
