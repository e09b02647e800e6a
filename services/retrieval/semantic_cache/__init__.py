"""The semantic cache: answered questions, and whether a new question asks the same in other words."""
