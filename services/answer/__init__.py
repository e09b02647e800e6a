"""Answer: writes the answer from the passages, with citations for every sentence.

Its tokens are published while it is written; their joined texts are the answer's content. An ambiguous question is
answered by a clarification. If the passages do not answer the question, the answer is `not_found` with links instead of
a guess. Facts: see `handler`.
"""
