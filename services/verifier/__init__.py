"""Verifier: lets no sentence through that is not in its source, and no citation that leads elsewhere.

Hears `AnswerDrafted` and says `AnswerVerified`; a draft that does not hold becomes `AnswerRefuted` (retrieval tries
once more with a rewritten question) and, when no attempt remains, `QuestionAbandoned`.
"""
