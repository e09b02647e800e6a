"""The engines: `extractive` quotes, `chat` has a model write, `agent` lets it use tools."""
