"""What a question that refers to the conversation before it asks, as a question of its own."""
