"""Answer: writes the answer from the passages, and says of every sentence where it stands.

Hears `PassagesRetrieved` and says `AnswerDrafted`, or `ClarificationRequested` when the question can mean several
things; meanwhile speaks `Token` signals whose texts, put together, are the answer's content. Evidence that is too weak
gives an honest `not_found` answer with links instead of a guess.
"""
