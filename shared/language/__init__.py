"""What can be known of a text without a model: its words, sentences, quantities, denials, and rules over them. Pure."""
