"""Verifier: rejects sentences that are not in their sources, and citations that do not lead where they say.

Consumes `AnswerDrafted` and publishes `AnswerVerified`, or `AnswerRefuted` for a draft that does not pass: retrieval
searches again with a rewritten question, and the next draft gets the feedback. When no attempt remains, the best one is
answered and marked `best_effort`, or the answer is `not_found` if nothing held.

Consumes `ExchangeRecorded` and publishes `ExchangeEvaluated`: each sentence and each citation of a recorded answer is
scored after the asker received it.
"""
