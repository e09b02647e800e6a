"""The use cases of a question: ask, wait, find, withdraw, rate, erase."""
