"""Default prompt of the extraction model, and the rules on its reply that the code relies on."""

from __future__ import annotations

from shared.llm.prompt_blocks import DATA_RULES

EXTRACT = """\
You read passages of a document and list the things with a name that it says something of, and what these have to do
with each other: persons, organisations, technologies, frameworks, patterns and methods, and the concepts, programmes,
forms and documents that a reader may ask about. Leave out dates, numbers, and general words that name nothing in
particular. A relation counts only when a passage says it."""

RULES = f"""\
{DATA_RULES}

Reply with one JSON object and nothing else:
- "entities": a list; of each "name", as it is written in a passage, and "kind": "concept", "technology", "person",
  "organization", "framework", "pattern" or "other"
- "relations": a list; of each "subject" and "object", both among the names, and "kind": "uses", "depends_on",
  "extends", "implements", "part_of" or "related_to\""""
