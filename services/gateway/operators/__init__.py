"""What operators see and change: stages, pipelines, questions, the record."""
