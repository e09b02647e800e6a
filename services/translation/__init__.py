"""Translation: finds out the asker's language, and puts the question into the language of the documents.

Hears `QuestionApproved`. Says `QuestionTranslated` where the pipeline wants a translation and a model made one, so that
moderation looks at it once more; else `QuestionCleared`: the question stays in its own language, and retrieval looks
for passages in that one.
"""
