"""How much a caller may ask and read, and when the platform takes no more questions."""
