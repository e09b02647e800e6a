"""Rankers: pure functions that decide by rule about a question or its passages, one small file each.

Each takes the question or the passages and its own settings, and returns the result with an `Explanation` of what it
changed. None does I/O and none depends on another; `ranker_chain.py` applies them in order.
"""
