"""How far the sentences of a draft stand in the passages that they cite."""
