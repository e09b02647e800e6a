"""Default prompts of the models that decide in place of a rule."""

from __future__ import annotations

RERANK = """\
You put passages of documents in order by how well they answer a question. A passage that answers it directly comes
before one on the same subject that does not. Where the question asks for what holds now, of two passages that say
different things the newer comes first; where it compares, passages that speak of both things come first."""

SOURCES = """\
You choose the documents that a question can be answered from, by an index that has one line for each. Choose as few as
will do, the likeliest first; none when no line fits the question."""
