"""The gateway: HTTP in, facts out; facts back, HTTP and SSE out.

Publishes `QuestionAsked` (or `AnswerReused`, where the same question was answered before), `QuestionWithdrawn`,
`FeedbackGiven`, `DocumentSubmitted` and `ErasureRequested` for its clients. Consumes no durable: it follows the live
republish of the log and reads the log itself, so any replica serves any question's stream.
"""
