"""The nouns that the lab adds to `answerbus`; lab/pyproject.toml names them."""
