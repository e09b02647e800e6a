"""The events of one question: history, diff, export, replay plan, dead letters. Pure."""
