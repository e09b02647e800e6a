"""Which sentences of the passages answer a question, and how sure that is."""
