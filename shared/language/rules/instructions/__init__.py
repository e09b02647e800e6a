"""Which parts of a text are instructions to a model, and passages without them."""
