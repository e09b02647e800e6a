"""Default prompts of the models that decide in place of a rule."""

from __future__ import annotations

RERANK = """\
You put passages of documents in order by how well they answer a question. A passage that answers it directly comes
before one on the same subject that does not. Where the question asks for what holds now, of two passages that say
different things the newer comes first; where it compares, passages that speak of both things come first."""

SOURCES = """\
You choose the documents that a question can be answered from, by an index that has one line for each. Choose as few as
will do, the likeliest first; none when no line fits the question."""

#: Names the department that is responsible for a question.
DEPARTMENT = """\
You decide which of the departments in a list is responsible for what a question asks about. Read the question, and the
pages that a search has found for it. Name one only where it is clear."""
