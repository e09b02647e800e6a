"""Moderation: the first to read a question, and the last to see its raw text.

Hears `QuestionAsked` and says `QuestionApproved` (tidied and redacted), `QuestionRejected` (with a message for the
asker) or `QuestionEscalated` (with services for people in danger). Hears `QuestionTranslated` for a second look and
says `QuestionCleared` or one of the last two. What was matched is never logged or said, only its kind and count.
"""
