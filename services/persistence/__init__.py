"""Persistence: keeps the record of every finished question, and the session its next question reads.

Hears every ending (the seven terminal facts, through one filter) and says `ExchangeRecorded`; hears `FeedbackGiven`,
`ExchangeEvaluated`, `DocumentIndexed` and `DocumentRefused` and says nothing. Hears `ErasureRequested`, erases what it
names from the record, the log and the caches and says `QuestionsForgotten`, which it hears too, to go on. Answers
`ask.persistence.conversation`, `.exchange`, `.exchanges`, `.export` and `.stats`. Owns the record (SQLite or
PostgreSQL) and writes the key-value buckets `sessions` and `answers`.

A fact heard twice is recorded once; facts may come in any order. A fact is acknowledged only after its commit.
"""
