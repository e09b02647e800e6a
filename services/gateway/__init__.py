"""The gateway: HTTP in, facts out; facts back, HTTP and SSE out.

Says `QuestionAsked` (or `AnswerReused`, where the same question was answered before), `QuestionWithdrawn`,
`FeedbackGiven` and `DocumentSubmitted` for its clients. Hears no durable
of its own: it follows the live republish and reads the log, so any replica serves any question's stream.
"""
