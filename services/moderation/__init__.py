"""Moderation: the first stage that reads a question, and the only one that sees its raw text.

Consumes `QuestionAsked` and publishes `QuestionApproved` (canonical and redacted text), `QuestionRejected` (with a
message for the asker) or `QuestionEscalated` (with services for people in danger). Consumes `QuestionTranslated`,
checks the translation, and publishes `QuestionCleared` or either of the last two. Matched text is never logged or
published, only its kind and count.
"""
