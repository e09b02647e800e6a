"""Retrieval: finds the passages an answer is written from, and owns the index they are found in.

Questions: consumes `QuestionCleared` and, for another attempt, `AnswerRefuted`; publishes `PassagesRetrieved` (also if
nothing was found), `ClarificationRequested`, or `AnswerReused` when the semantic cache has the answer of an equal
question. Consumes `ExchangeRecorded` to fill that cache.

Documents: consumes `DocumentSubmitted`; publishes `DocumentIndexed` or `DocumentRefused`.

Feedback and erasure: consumes `FeedbackGiven`, which moves sources a little up or down, and `QuestionsForgotten`, which
deletes votes and cached questions.

Answers the requests `ask.retrieval.search`, `.documents`, `.source_index`, `.remove` and `.stats` (see
`shared.contracts.requests.retrieval`). No other stage opens the index. Begin reading at `handler.register`.
"""
