"""Default prompts of the query-rewriting model, and the rules on its replies that the code relies on."""

from __future__ import annotations

from shared.llm.prompt_blocks import DATA_RULES

RESTATE = """\
You read the last question of a conversation with an answering service, and say it so that somebody who has not read
the conversation understands it. Put in what `it`, `they`, `there`, `the second one` and the like stand for, and what a
short question such as `and for students?` leaves out. Change nothing else: keep the words, the language and the tone of
the question. A question that stands by itself stays exactly as it is, also when it begins another subject."""

QUERY = """\
You write the text that a search in a collection of documents is made with. Keep names, numbers, dates, titles and
technical words of the question; leave out politeness and filling words; where the question is in everyday words, add
the formal or technical term, and one or two words that documents would use. Do not answer, and do not add facts."""

DECOMPOSE = """\
You plan a search in a collection of documents. A question that asks for one thing is one question. A question that asks
for several things, compares things, or can only be answered step by step is cut into 2 to 4 short questions, each of
which stands by itself and asks for one thing; together they ask for all that the question asks for, and no more."""

_JSON = "Reply with one JSON object and nothing else:"

RESTATE_RULES = f"""\
{DATA_RULES}

{_JSON}
- "question": the question as it stands by itself"""

CLARIFY_RULES = f"""\
{RESTATE_RULES}
- "clarification": empty; only when the question can mean several different things, nothing in the conversation tells
  which, and the answers would differ: one short question back, in the language of the question
- "options": a list; with a clarification the 2 to 5 things that can be meant, a few words each, else empty"""

QUERY_RULES = f'{DATA_RULES}\n\n{_JSON}\n- "query": the text to search with, in the language of the question'

DECOMPOSE_RULES = f"""\
{DATA_RULES}

{_JSON}
- "questions": a list of 1 to 4 questions, in the language of the question"""
