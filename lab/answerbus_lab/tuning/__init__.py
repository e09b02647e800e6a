"""Searches settings of a pipeline by the cases of a suite, and proposes the best as a change with its evidence."""
