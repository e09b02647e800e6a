"""What the commands of the lab print."""
