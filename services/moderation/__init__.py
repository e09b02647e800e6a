"""Moderation: the first to read a question, and the last to see its raw text.

Hears `QuestionAsked` and says `QuestionApproved` (tidied and redacted) or `QuestionRejected` (with a message for the
asker). Hears `QuestionTranslated` for a second look and says `QuestionCleared` or `QuestionRejected`. What was matched
is never logged or said, only its kind and count.
"""
