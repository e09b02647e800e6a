"""Answer: writes the answer from the passages, with citations for every sentence.

Consumes `PassagesRetrieved` and publishes `AnswerDrafted`, or `ClarificationRequested` when the question is ambiguous.
Meanwhile it publishes `Token` signals whose joined texts are the answer's content. If the passages do not answer the
question, the answer is `not_found` with links instead of a guess.
"""
