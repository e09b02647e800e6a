"""Detection of private data by patterns, without a model."""
