"""Translation: identifies the language of the question and translates it into the language of the documents.

Consumes `QuestionApproved`. Publishes `QuestionTranslated` where the pipeline translates and a model gave a
translation, which moderation then checks; else `QuestionCleared`: retrieval searches with the question in its own
language.
"""
