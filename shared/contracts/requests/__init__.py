"""What services ask one another by request/reply: one module per stage asked, requests and replies as values."""
