"""The protocols of other systems over the same questions, one room each."""
