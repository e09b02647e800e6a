"""The engines: `extractive` quotes sentences, `chat` has a model write, `agent` has a model that uses tools."""
