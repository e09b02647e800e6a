"""What services exchange: facts, values, envelope, subjects, requests. Knows no library but pydantic."""
