"""Persistence: the record of every finished question, and the session that a conversation's next question reads.

Consumes every terminal fact (through one filter) and publishes `ExchangeRecorded`. Consumes `FeedbackGiven`,
`ExchangeEvaluated`, `DocumentIndexed` and `DocumentRefused`. Consumes `ErasureRequested`, erases what it names from the
record, the log and the caches, and publishes `QuestionsForgotten`, which it also consumes to go on with the next batch.
Replies to `ask.persistence.conversation`, `.exchange`, `.exchanges`, `.export` and `.stats`, and to the requests of the
directory. Owns the record (SQLite or PostgreSQL) and writes the key-value buckets `sessions` and `answers`.

A fact that is delivered twice is recorded once; facts may arrive in any order. A fact is acknowledged only after its
commit.
"""
