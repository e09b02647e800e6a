"""The semantic cache: answered questions, and whether a new question asks the same as one of them in other words."""
