"""What commands print: answers, events, exchanges, differences and evaluations as tables and text."""
