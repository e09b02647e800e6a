"""Translation: finds out the asker's language, and puts the question into the language of the documents.

Hears `QuestionApproved` and says `QuestionCleared`: with no translation model configured every question stays in its
own language, and retrieval looks for passages in that one.
"""
