"""What is decided about a question and its passages by rule: one small pure file per judgement, each explaining itself.

A judgement takes the question or the passages and its own settings, and gives what it made of them together with an
`Explanation`. None does I/O and none knows another.
"""
