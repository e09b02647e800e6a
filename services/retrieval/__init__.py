"""Retrieval: finds the passages an answer can be written from, and keeps the index they are found in.

Hears `QuestionCleared` and, for another attempt, `AnswerRefuted`; says `PassagesRetrieved`, also when nothing was
found, or `AnswerReused` where an earlier question asked the same and pipelines have it so; it hears `ExchangeRecorded`
to keep such questions. Hears `DocumentSubmitted` and says `DocumentIndexed` or `DocumentRefused`. Hears
`FeedbackGiven`, so that sources whose answers were liked, or not, move a little, and `QuestionsForgotten`, to let go of
votes and questions.

Answers `ask.retrieval.search`, `.documents`, `.source_index`, `.remove` and `.stats` (see
`shared.contracts.requests.retrieval`). It is the only owner of the index: everybody else asks.
"""
