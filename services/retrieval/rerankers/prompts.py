"""The rules in the prompt of the reranker that its code relies on."""

from __future__ import annotations

from shared.llm.prompt_blocks import DATA_RULES

RULES = f"""\
{DATA_RULES}
The attribute `why` of the question says what called for a new order: `close` scores, a `temporal` question, a
`comparing` one.

Reply with one JSON object and nothing else:
- "order": the numbers of the passages, best first; leave out those that say nothing of the question"""
