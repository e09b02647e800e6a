"""Long runs with hostile documents: `make fuzz`."""
