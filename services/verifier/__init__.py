"""Verifier: lets no sentence through that is not in its source, and no citation that leads elsewhere.

Hears `AnswerDrafted` and says `AnswerVerified`; a draft that does not pass becomes `AnswerRefuted` (retrieval tries
again with a rewritten question, and the next draft gets the feedback). When no attempt remains, the best one is
answered and marked, or `not_found` where nothing held.

Hears `ExchangeRecorded` and says `ExchangeEvaluated`: answers on record are scored, each sentence and each citation,
after their askers have them.
"""
