"""Finding private data by its shape, without a model."""
